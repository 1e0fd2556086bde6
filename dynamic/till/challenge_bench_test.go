package till_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
	"store.example/agentstore/dynamic/till"
)

// nobody is a client that reads no byte of its answer.
type nobody struct{ header http.Header }

func (n nobody) Header() http.Header         { return n.header }
func (n nobody) Write(b []byte) (int, error) { return len(b), nil }
func (n nobody) WriteHeader(int)             {}

// BenchmarkChallenge is a 402 as the till makes it, without the server around it. cmd/bench has the
// whole.
func BenchmarkChallenge(b *testing.B) { challenges(b, fakeRail{newFakeChain()}) }

// BenchmarkChallengeOnSolana is the same with a network whose terms vary from 402 to 402.
func BenchmarkChallengeOnSolana(b *testing.B) {
	r, err := solana.New(solanaConfig("http://127.0.0.1:1", solanaAddress(newSolanaKey(b)), newSolanaKey(b)))
	if err != nil {
		b.Fatal(err)
	}
	challenges(b, fakeRail{newFakeChain()}, onSolana{fakeRail{newFakeChain()}, r})
}

func challenges(b *testing.B, rails ...rail.Rail) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		b.Fatal(err)
	}
	db := ledger.NewMem(ledger.MemOptions{})
	defer db.Close()
	tl, err := till.New(till.Config{BaseURL: "https://store.test", Site: site, DB: db,
		Rails: rails,
		Keys:  []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(), Secret: bytes.Repeat([]byte("s"), 32),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	h := handler(tl, "https://store.test", func(_ http.ResponseWriter, _ *http.Request, err error) { b.Error(err) })
	for _, path := range []string{"/api/buy/hello", "/api/buy/hello?agent_name=Ada",
		"/api/buy/the_confession?detail=I%20read%20the%20manual."} {
		b.Run(path, func(b *testing.B) {
			r, err := http.NewRequest("GET", path, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(nobody{http.Header{}}, r)
			}
		})
	}
}
