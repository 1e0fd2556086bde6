package street

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"store.example/agentstore/corpus/networks"
)

// Node answers a walker's question to a node of Solana for the five accounts of an entry: its mint,
// its fee payer, payTo, and payTo's token accounts under both token programs. All that a door of
// the street names is there, so that such a door is judged whole.
func Node(_ context.Context, question []byte) ([]byte, error) {
	var asked struct {
		Params []json.RawMessage `json:"params"`
	}
	var keys []string
	if err := json.Unmarshal(question, &asked); err != nil {
		return nil, fmt.Errorf("reading a question for accounts: %w", err)
	}
	if len(asked.Params) == 0 || json.Unmarshal(asked.Params[0], &keys) != nil || len(keys) != 5 {
		return nil, errors.New("a question for something else than five accounts")
	}
	mint, err := networks.ParseSolanaAccount(keys[0])
	if err != nil {
		return nil, fmt.Errorf("reading the mint: %w", err)
	}
	payTo, err := networks.ParseSolanaAccount(keys[2])
	if err != nil {
		return nil, fmt.Errorf("reading payTo: %w", err)
	}
	ofMint, tokens := make([]byte, 82), make([]byte, 165)
	ofMint[45], tokens[108] = 1, 1 // initialized
	copy(tokens, mint[:])
	copy(tokens[32:], payTo[:])
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"value": []any{
		held(networks.SPLToken, ofMint), held(networks.SolanaKey{}, nil), nil, held(networks.SPLToken, tokens), nil}}})
}

// held is an account as a node tells of it.
func held(owner networks.SolanaKey, data []byte) map[string]any {
	return map[string]any{"lamports": 2_039_280, "owner": networks.EncodeBase58(owner[:]),
		"data": []string{base64.StdEncoding.EncodeToString(data), "base64"}}
}
