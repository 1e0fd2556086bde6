package seal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
)

// Observe numbers, signs and writes observations behind those of the record and appends them to the
// log. It returns them as they stand. One that brings a number must get that one, or it and those
// behind it are ErrNumber: so who repeats what a crash cut off, or does it beside another process,
// writes nothing twice.
func (w *Writer) Observe(ctx context.Context, fresh ...record.Observation) (_ []record.Observation, err error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	held := r.Log.Head().Size
	for _, round := range r.Rounds() {
		held -= round.Rows + 2
	}
	out := make([]record.Observation, 0, len(fresh))
	var withdrawn []string
	for _, o := range fresh {
		if o.Withdrawn != nil {
			withdrawn = append(withdrawn, o.Withdrawn.SHA256)
		}
	}
	var newest *record.Round
	if rounds := r.Rounds(); len(rounds) > 0 {
		newest = &rounds[len(rounds)-1]
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
		looked := o
		// One that waited too long to be written is told when the round before it is.
		if newest != nil && o.Dates(newest, nil) != nil {
			o.At = newest.TakenAt
		}
		raw, err := record.SignObservation(o, w.Identity)
		if err != nil {
			return nil, err
		}
		// What nobody would accept is not written: it could never be taken back.
		signed, err := record.VerifyObservation(raw, w.Ring)
		if err != nil {
			return nil, err
		}
		if err := w.putObserved(dir, r, looked, withdrawn); err != nil {
			return nil, err
		}
		if err := putWords(dir, o, withdrawn); err != nil {
			return nil, err
		}
		if err := dir.Once("observations/"+o.File(), raw); err != nil {
			return nil, err
		}
		if o, err = signed.WithTexts(dir.Root.FS()); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, w.catchUp(ctx, dir, r)
}

// putObserved writes what a refresh or an erratum was judged by, if it came with it, before the
// observation itself.
func (w *Writer) putObserved(dir *durable.Folder, r *record.Record, o record.Observation, withdrawn []string) error {
	digest := o.JudgedBy()
	if digest == "" || o.Judgement == "" || slices.Contains(withdrawn, digest) {
		return nil
	}
	raw := []byte(o.Judgement)
	if w.Judge == nil {
		return fmt.Errorf("adding observation %d: %w", o.Number, errNoJudge)
	}
	err := w.judged(r, o, raw)
	if err != nil {
		return fmt.Errorf("adding observation %d: %w", o.Number, err)
	}
	keep := newPacker(record.MaxPack)
	if err := keep.add(o.Subject(), digest, raw); err != nil {
		return err
	}
	return errors.Join(dir.Put(record.ObservedEvidence(digest), keep.members[0].zipped),
		dir.SyncUp("evidence/observations"))
}

// judged demands that a judgement gives what an observation says, and that an erratum may rest on
// it.
func (w *Writer) judged(r *record.Record, o record.Observation, raw []byte) error {
	if o.Refresh != nil {
		return w.Judge.Refresh(*o.Refresh, o.At, raw)
	}
	entry, err := r.Log.Entry(o.Erratum.Leaf)
	if err != nil {
		return err
	}
	row, err := record.ParseRow(entry)
	if err != nil {
		return err
	}
	look, err := record.ReadLook(raw)
	if err != nil {
		return err
	}
	own, err := r.RawEvidence(row.Sequence, row.Host)
	if err != nil {
		return err
	}
	walk, err := w.Judge.Walk(raw)
	if err == nil && walk.Verdict != o.Erratum.VerdictNow {
		err = fmt.Errorf("it says %s, what it was judged by gives %s", o.Erratum.VerdictNow, walk.Verdict)
	}
	return cmp.Or(look.Corrects(row, o.At), err, o.Erratum.Errs(row, &walk), o.Erratum.ErrsOn(row, raw, own))
}

// putWords writes the files of an observation's public texts, before the observation itself.
// withdrawn holds digests that later observations of the same batch withdraw.
func putWords(dir *durable.Folder, o record.Observation, withdrawn []string) error {
	for _, s := range o.Texts() {
		if slices.Contains(withdrawn, s.SHA256) {
			continue
		}
		if s.Text == "" {
			return fmt.Errorf("adding observation %d: the text of %s is missing; hint: it must come with the "+
				"observation, or be withdrawn in the same batch", o.Number, s.SHA256)
		}
		raw, err := s.Encode()
		if err != nil {
			return err
		}
		if err := errors.Join(dir.Put(record.WordsPath(s.SHA256), raw), dir.SyncUp("words")); err != nil {
			return err
		}
	}
	return nil
}

// withdraw removes the bytes that an observation withdraws, before it is logged: so a crash leaves
// it to be done again.
func withdraw(dir *durable.Folder, o record.Observation) error {
	if o.Withdrawn == nil {
		return nil
	}
	err := dir.Root.Remove(record.WordsPath(o.Withdrawn.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		err = dir.Root.Remove(record.ObservedEvidence(o.Withdrawn.SHA256))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = thin(dir, o.Withdrawn.SHA256)
	}
	if err != nil {
		return fmt.Errorf("withdrawing %s: %w", o.Withdrawn.SHA256, err)
	}
	return nil
}
