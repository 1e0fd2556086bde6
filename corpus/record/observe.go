package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// Observe numbers, signs and writes observations behind those of the record and appends them to the
// log. It returns them as they stand. One that brings a number must get that one, or it and those
// behind it are ErrNumber: so who repeats what a crash cut off, or does it beside another process,
// writes nothing twice.
func (w *Writer) Observe(ctx context.Context, fresh ...Observation) (_ []Observation, err error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	held := r.Log.Head().Size
	for _, round := range r.rounds {
		held -= round.Rows + 2
	}
	out := make([]Observation, 0, len(fresh))
	var withdrawn []string
	for _, o := range fresh {
		if o.Withdrawn != nil {
			withdrawn = append(withdrawn, o.Withdrawn.SHA256)
		}
	}
	for _, o := range fresh {
		held++
		if o.Number != 0 && o.Number != held {
			err := fmt.Errorf("adding observation %d: %w, which is %d", o.Number, ErrNumber, held)
			return out, errors.Join(err, w.catchUp(ctx, dir, r))
		}
		o.Number = held
		if o, err = o.Salted(w.Random); err != nil {
			return nil, err
		}
		raw, err := SignObservation(o, w.Identity)
		if err != nil {
			return nil, err
		}
		// What nobody would accept is not written: it could never be taken back.
		signed, err := VerifyObservation(raw, w.Ring)
		if err != nil {
			return nil, err
		}
		if err := w.putObserved(dir, o, withdrawn); err != nil {
			return nil, err
		}
		if err := putWords(dir, o, withdrawn); err != nil {
			return nil, err
		}
		if err := dir.Once("observations/"+o.File(), raw); err != nil {
			return nil, err
		}
		if o, err = signed.withTexts(r.fsys); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, w.catchUp(ctx, dir, r)
}

// OpenObservation reads and verifies observation n of a record's folder and returns its exact bytes
// beside it, without its texts.
func OpenObservation(fsys fs.FS, n int64, ring attest.Ring) (Observation, []byte, error) {
	name := "observations/" + Observation{Number: n}.File()
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Observation{}, nil, err
	}
	o, err := VerifyObservation(raw, ring)
	if err == nil && o.Number != n {
		err = rule.ObservationNumber.Errorf("it holds observation %d", o.Number)
	}
	if err != nil {
		return Observation{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, raw, nil
}
