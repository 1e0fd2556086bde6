package kit_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/corpus/networks"
)

// Whether an entry on Solana can be paid stands on chain: with a node a seller is told, without one
// he is told that nobody looked.
func TestSolanaNode(t *testing.T) {
	usdc, _ := networks.USDC(networks.Solana)
	const payTo = "4xuFetaZeAVw81oNVVWVxEt2Jh5rmN1D66keucZ3kcav"
	const feePayer = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		terms, err := json.Marshal(map[string]any{"x402Version": 2,
			"resource": map[string]any{"url": "http://" + r.Host + "/"},
			"accepts": []any{map[string]any{"scheme": "exact", "network": networks.Solana, "amount": "10000",
				"asset": usdc.Address, "payTo": payTo, "maxTimeoutSeconds": 300,
				"extra": map[string]any{"feePayer": feePayer}}}})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Payment-Required", base64.StdEncoding.EncodeToString(terms))
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	t.Cleanup(door.Close)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer, err := street.Node(r.Context(), question)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(node.Close)
	url := strings.Replace(door.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"with a node", []string{"-solana-rpc", node.URL}, kit.ExitFine, "READY"},
		{"without one", nil, kit.ExitFine, "mint and fee payer are not judged"},
		{"one that is silent", []string{"-solana-rpc", "http://127.0.0.1:1"}, kit.ExitFine, "no node answered"},
		{"no address of one", []string{"-solana-rpc", "solana"}, kit.ExitTrouble, "-solana-rpc"},
	} {
		code, out, errs := run(t, append(c.args, "-local", url)...)
		if code != c.want || !strings.Contains(out+errs, c.says) ||
			strings.Contains(out, "nothing usable answered") {
			t.Errorf("%s: exit %d, want %d, and %q in\n%s%s", c.name, code, c.want, c.says, out, errs)
		}
	}
}
