package dynamic

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A deadline says what context.WithDeadlineCause says, in each order in which it can be asked.
func TestDeadlineIsAContext(t *testing.T) {
	type key struct{}
	gone := errors.New("gone")
	asks := map[string]func(context.Context){
		"nothing":  func(context.Context) {},
		"done":     func(c context.Context) { c.Done() },
		"err":      func(c context.Context) { _ = c.Err() },
		"cause":    func(c context.Context) { _ = context.Cause(c) },
		"child":    func(c context.Context) { _, cancel := context.WithCancel(c); defer cancel() },
		"deadline": func(c context.Context) { c.Deadline() },
	}
	ends := map[string]func(leave, handled func()){
		"none":    func(_, _ func()) {},
		"time":    func(_, _ func()) { time.Sleep(2 * time.Second) },
		"leaves":  func(leave, _ func()) { leave() },
		"handled": func(_, handled func()) { handled() },
	}
	for first, ask := range asks {
		for how, end := range ends {
			t.Run(first+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, leave := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
					defer leave(nil)
					at, waits := time.Now().Add(time.Second), 0
					ours := &deadline{Context: parent, at: at, waits: func() { waits++ }}
					theirs, cancel := context.WithDeadlineCause(parent, at, errTooSlow)
					defer cancel()
					ask(ours)
					end(func() { leave(gone) }, func() { ours.end(); cancel() })
					synctest.Wait()
					for _, c := range []context.Context{ours, theirs} {
						if got, ok := c.Deadline(); !ok || !got.Equal(at) {
							t.Errorf("ends at %v, %v", got, ok)
						}
						if c.Value(key{}) != "value" {
							t.Error("its value is lost")
						}
						want := context.Cause(theirs)
						if by := context.Cause(c); c.Err() != theirs.Err() || by != want {
							t.Errorf("%v by %v, want %v by %v", c.Err(), by, theirs.Err(), want)
						}
						child, stop := context.WithCancel(c)
						defer stop()
						synctest.Wait()
						if by := context.Cause(child); child.Err() != theirs.Err() || by != want {
							t.Errorf("a child's: %v by %v, want %v by %v", child.Err(), by, theirs.Err(), want)
						}
						select {
						case <-c.Done():
							if theirs.Err() == nil {
								t.Error("it is done")
							}
						default:
							if theirs.Err() != nil {
								t.Error("it is not done")
							}
						}
					}
					if want := how != "handled" || first == "done" || first == "child"; (waits == 1) != want {
						t.Errorf("%d times told that somebody waits", waits)
					}
				})
			})
		}
	}
}
