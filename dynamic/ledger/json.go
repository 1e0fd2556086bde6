package ledger

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
)

// GetJSON reads the record at key as a T. It returns ErrNotFound for an absent
// key and an error for anything but the JSON of a T: unknown members, duplicate
// names, wrong case and bad UTF-8 are refused, and then the T is zero.
//
//	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
func GetJSON[T any](tx Tx, key []byte) (T, error) {
	value, err := tx.Get(key)
	if err != nil {
		var zero T
		return zero, err
	}
	return DecodeJSON[T](Entry{key, value})
}

// FindJSON is [GetJSON] where a record may be absent: then the T is zero.
func FindJSON[T any](tx Tx, key []byte) (v T, found bool, err error) {
	v, err = GetJSON[T](tx, key)
	if errors.Is(err, ErrNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}

// DecodeJSON reads the value of an entry that a scan yielded, as [GetJSON] does.
func DecodeJSON[T any](e Entry) (T, error) {
	var v T
	if err := json.Unmarshal(e.Value, &v, json.RejectUnknownMembers(true)); err != nil {
		var zero T
		return zero, fmt.Errorf("decoding ledger record %s: %w", KeyText(e.Key), err)
	}
	return v, nil
}

// Values reads the values of the entries of a scan, as [DecodeJSON] does, up to the first error.
func Values[T any](entries iter.Seq2[Entry, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for e, err := range entries {
			var v T
			if err == nil {
				v, err = DecodeJSON[T](e)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// EncodeJSON is the entry that [SetJSON] stores. Where many write at once it is made before the
// Update: the functions of a batch run one after another.
func EncodeJSON(key []byte, v any) (Entry, error) {
	value, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return Entry{}, fmt.Errorf("encoding ledger record %s: %w", KeyText(key), err)
	}
	return Entry{key, value}, nil
}

// SetJSON stores v at key as JSON. Equal values are stored as equal bytes.
func SetJSON(tx Tx, key []byte, v any) error {
	e, err := EncodeJSON(key, v)
	if err != nil {
		return err
	}
	return tx.Set(e.Key, e.Value)
}
