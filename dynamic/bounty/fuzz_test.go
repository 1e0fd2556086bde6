package bounty_test

import (
	"context"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/bounty"
)

// FuzzScreen: a list either closes the screen, or each of its lines that is no remark is listed, an
// address of an EVM network however it is spelled.
func FuzzScreen(f *testing.F) {
	f.Add([]byte("# none\n0x" + strings.Repeat("Ee", 20) + "\n\n7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU\r\n"))
	f.Add([]byte("\xef\xbb\xbf0x" + strings.Repeat("1", 40)))
	f.Add([]byte("<html>"))
	f.Add([]byte("# \n"))
	f.Fuzz(func(t *testing.T, list []byte) {
		s := &bounty.Screen{Sources: []string{"list"}, Load: func(context.Context, string) ([]byte, error) {
			return list, nil
		}}
		failed := s.Reload(t.Context())
		st, why := s.State()
		if (failed == nil) != st.Readable || (why == nil) != st.Readable {
			t.Fatalf("read %v, but it says %+v, %v", failed, st, why)
		}
		if _, err := s.Listed("0x1"); (err == nil) != (failed == nil) {
			t.Fatalf("read %v, asked %v", failed, err)
		}
		lines := 0
		for line := range strings.SplitSeq(string(list), "\n") {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' || failed != nil {
				continue
			}
			lines++
			spellings := []string{line}
			if strings.HasPrefix(line, "0x") {
				spellings = append(spellings, "0x"+strings.ToUpper(line[2:]), strings.ToLower(line))
			}
			for _, a := range spellings {
				if listed, err := s.Listed("0x"+strings.Repeat("0", 39), a); err != nil || !listed {
					t.Errorf("%q is on the list and not listed: %v", a, err)
				}
			}
		}
		if failed == nil && lines == 0 {
			t.Error("an empty list is open")
		}
	})
}
