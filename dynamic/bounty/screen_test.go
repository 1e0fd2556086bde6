package bounty_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/bounty"
)

// The screen is closed from the first list that cannot be read on, and when nobody has read it for
// long.
func TestTheScreenFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held sync.Map // what the lists hold, by name
		held.Store("a", "0xABcdefabcdefabcdefabcdefabcdefabcdefabcd\n")
		fine := "# none\n\n7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU\r\n"
		held.Store("b", fine)
		s := &bounty.Screen{Sources: []string{"a", "b"}, Log: slog.New(slog.DiscardHandler),
			Load: func(_ context.Context, name string) ([]byte, error) {
				if text, ok := held.Load(name); ok {
					return []byte(text.(string)), nil
				}
				return nil, errors.New("no such file")
			}}
		ask := func(address string) string {
			listed, err := s.Listed("0x"+strings.Repeat("1", 40), address)
			st, why := s.State()
			if (err == nil) != st.Readable || (why == nil) != st.Readable {
				t.Errorf("asked it says %v, told %+v", err, st)
			}
			switch {
			case err != nil:
				return "closed"
			case listed:
				return "listed"
			}
			return "free"
		}
		const bad = "0xabcdefabcdefABCDEFabcdefabcdefabcdefabcd"
		want := func(when, answer string) {
			t.Helper()
			if got := ask(bad); got != answer {
				t.Errorf("%s: %s, want %s", when, got, answer)
			}
		}
		want("before it is read", "closed")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		want("read", "listed")
		if ask("7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU") != "listed" || ask("0x"+strings.Repeat("2",
			40)) != "free" {
			t.Error("the second list counts for nothing, or everybody is on it")
		}
		for name, text := range map[string]string{"an error page": "<html>404</html>", "empty": "# nothing\n",
			"large": strings.Repeat(bad+"\n", bounty.MaxScreen/len(bad)+1)} {
			held.Store("b", text)
			time.Sleep(bounty.ScreenEvery)
			synctest.Wait()
			want(name, "closed")
			held.Store("b", fine)
			time.Sleep(time.Minute)
			synctest.Wait()
			want("mended after "+name, "listed")
		}
		held.Delete("a")
		time.Sleep(bounty.ScreenEvery)
		synctest.Wait()
		want("without a file", "closed")
		held.Store("a", bad)
		time.Sleep(time.Minute)
		synctest.Wait()
		want("with it", "listed")
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(3 * bounty.ScreenEvery)
		want("at its age", "listed")
		time.Sleep(time.Second)
		want("past its age", "closed")
		var none *bounty.Screen
		if _, err := none.Listed(bad); err == nil {
			t.Error("no screen is open")
		}
	})
}
