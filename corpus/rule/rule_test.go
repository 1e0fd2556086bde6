package rule

import (
	"errors"
	"fmt"
	"testing"
)

func TestBroken(t *testing.T) {
	inner := RowForm.Errorf("in a row: %w", errors.ErrUnsupported)
	if r, ok := Of(fmt.Errorf("reading: %w", inner)); !ok || r != RowForm || !errors.Is(inner, errors.ErrUnsupported) {
		t.Errorf("of a wrapped error: %s, %v", r, ok)
	}
	if r := Or(RowKey.By(inner), FileKind); r != RowForm {
		t.Errorf("named over: %s", r)
	}
	if r := Or(RowKey.By(errors.ErrUnsupported), FileKind); r != RowKey {
		t.Errorf("not named: %s", r)
	}
	if RowKey.By(nil) != nil || Or(nil, FileKind) != FileKind {
		t.Error("nothing broke a rule")
	}
}
