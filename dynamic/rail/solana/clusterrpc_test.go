package solana_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	sol "github.com/gagliardetto/solana-go"
)

// serve answers JSON-RPC.
func (c *cluster) serve(w http.ResponseWriter, req *http.Request) {
	var q struct {
		ID     json.RawMessage   `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(req.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.seen[q.Method]++
	result, bad := c.answer(q.Method, q.Params)
	if c.lie != nil {
		if bad != nil {
			result = bad
		}
		if result, bad = c.lie(q.Method, q.Params, result); bad == nil {
			bad, _ = result.(*fault)
		}
	}
	c.mu.Unlock()
	if bad != nil && bad.Code == 0 { // the connection is lost
		panic(http.ErrAbortHandler)
	}
	out := map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": result}
	if bad != nil {
		delete(out, "result")
		out["error"] = bad
	}
	json.NewEncoder(w).Encode(out)
}

// options reads a parameter that is an object.
func options(params []json.RawMessage, i int) (o struct {
	Commitment string
	Limit      int
	Before     string
	SigVerify  bool
	History    bool `json:"searchTransactionHistory"`
}) {
	if i < len(params) {
		json.Unmarshal(params[i], &o)
	}
	return o
}

func value(slot uint64, v any) any {
	return map[string]any{"context": map[string]any{"slot": slot, "apiVersion": "2.0.0"}, "value": v}
}

func (c *cluster) answer(method string, params []json.RawMessage) (any, *fault) {
	text := ""
	if len(params) > 0 {
		json.Unmarshal(params[0], &text)
	}
	o := options(params, 1)
	switch method {
	case "getGenesisHash":
		return "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKVvvvTC7fUwZ", nil
	case "getFirstAvailableBlock":
		return c.first, nil
	case "getEpochInfo":
		height, b := c.at(options(params, 0).Commitment)
		return map[string]any{"absoluteSlot": b.slot, "blockHeight": height, "epoch": 1, "slotIndex": 1,
			"slotsInEpoch": 432000, "transactionCount": 1}, nil
	case "getLatestBlockhash":
		height, b := c.at(options(params, 0).Commitment)
		return value(b.slot, map[string]any{"blockhash": b.hash.String(), "lastValidBlockHeight": height + 150}), nil
	case "getAccountInfo":
		_, b := c.at(o.Commitment)
		return value(b.slot, b.account(sol.MustPublicKeyFromBase58(text))), nil
	case "getMultipleAccounts":
		var names []string
		json.Unmarshal(params[0], &names)
		_, b := c.at(o.Commitment)
		var list []any
		for _, n := range names {
			list = append(list, b.account(sol.MustPublicKeyFromBase58(n)))
		}
		return value(b.slot, list), nil
	case "simulateTransaction":
		return c.simulate(text, o.SigVerify)
	case "sendTransaction":
		return c.send(text)
	case "getSignatureStatuses":
		return c.statuses(params, o.History), nil
	case "getTransaction":
		height, r := c.place(text)
		if r == nil || o.Commitment == "finalized" && height > c.finalHeight() {
			return nil, nil
		}
		return r.described(c.blocks[height].time), nil
	case "getBlock":
		return c.block(params, o.Commitment)
	case "getSignaturesForAddress":
		return c.history(sol.MustPublicKeyFromBase58(text), o.Limit, o.Before, o.Commitment), nil
	}
	return nil, &fault{-32601, "Method not found"}
}

func (c *cluster) simulate(text string, verify bool) (any, *fault) {
	wire, _ := base64.StdEncoding.DecodeString(text)
	b := c.head()
	s := state{maps.Clone(b.lamports), maps.Clone(b.tokens), b.done}
	r, err := c.try(b.slot, &s, wire, verify)
	out := map[string]any{"err": nil, "logs": []string{}, "unitsConsumed": 0, "accounts": nil, "returnData": nil}
	if err != nil {
		out["err"] = err.Error()
	} else {
		out["err"], out["unitsConsumed"] = r.err, r.units
	}
	return value(b.slot, out), nil
}

func (c *cluster) send(text string) (any, *fault) {
	wire, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(wire) < 65 || len(wire) > 1232 {
		return nil, &fault{-32602, "invalid transaction"}
	}
	tx, err := sol.TransactionFromBytes(wire)
	if err != nil {
		return nil, &fault{-32602, err.Error()}
	}
	if c.dropped > 0 {
		c.dropped--
	} else if !slices.ContainsFunc(c.pool, func(b []byte) bool { return bytes.Equal(b, wire) }) {
		c.pool = append(c.pool, wire)
	}
	return tx.Signatures[0].String(), nil
}

func (c *cluster) statuses(params []json.RawMessage, history bool) any {
	var names []string
	json.Unmarshal(params[0], &names)
	var list []any
	for _, n := range names {
		height, r := c.place(n)
		if r == nil || !history && height+150 < len(c.blocks)-1 {
			list = append(list, nil)
			continue
		}
		status := "confirmed"
		if height <= c.finalHeight() {
			status = "finalized"
		}
		list = append(list, map[string]any{"slot": r.slot, "confirmations": nil, "err": r.err,
			"confirmationStatus": status, "status": map[string]any{"Ok": nil}})
	}
	return value(c.head().slot, list)
}

func (c *cluster) block(params []json.RawMessage, commitment string) (any, *fault) {
	var slot uint64
	json.Unmarshal(params[0], &slot)
	for h, b := range c.blocks {
		if b.slot == slot && (commitment != "finalized" || h <= c.finalHeight()) {
			return map[string]any{"blockhash": b.hash.String(), "previousBlockhash": b.hash.String(),
				"parentSlot": slot - 1, "blockTime": b.time.Unix(), "blockHeight": h}, nil
		}
	}
	return nil, &fault{-32004, "Block not available for slot"}
}

func (c *cluster) history(account sol.PublicKey, limit int, before, commitment string) any {
	list := []any{}
	skip := before != ""
	newest, _ := c.at(commitment)
	for height, b := range slices.Backward(c.blocks[:newest+1]) {
		status := "confirmed"
		if height <= c.finalHeight() {
			status = "finalized"
		}
		for _, r := range slices.Backward(b.ran) {
			name := r.tx.Signatures[0].String()
			if !skip && len(list) < limit && slices.Contains(r.tx.Message.AccountKeys, account) {
				list = append(list, map[string]any{"signature": name, "slot": r.slot, "err": r.err, "memo": nil,
					"blockTime": b.time.Unix(), "confirmationStatus": status})
			}
			skip = skip && name != before
		}
	}
	return list
}

// described is a run as getTransaction says it.
func (r *run) described(when time.Time) any {
	balances := func(of map[sol.PublicKey]tokens) []any {
		list := []any{}
		for i, k := range r.tx.Message.AccountKeys {
			if t, ok := of[k]; ok {
				list = append(list, map[string]any{"accountIndex": i, "mint": t.mint.String(),
					"owner": t.owner.String(), "programId": sol.TokenProgramID.String(),
					"uiTokenAmount": map[string]any{"amount": fmt.Sprint(t.amount), "decimals": 6,
						"uiAmountString": "0"}})
			}
		}
		return list
	}
	return map[string]any{
		"slot": r.slot, "blockTime": when.Unix(), "version": 0,
		"transaction": []string{base64.StdEncoding.EncodeToString(r.wire), "base64"},
		"meta": map[string]any{"err": r.err, "fee": r.fee, "computeUnitsConsumed": r.units,
			"preTokenBalances":  balances(r.before),
			"postTokenBalances": balances(r.after), "loadedAddresses": map[string]any{"writable": []string{},
				"readonly": []string{}}},
	}
}

// account is an account as the block left it.
func (b *slotBlock) account(k sol.PublicKey) any {
	wrap := func(owner sol.PublicKey, lamports uint64, data []byte) any {
		return map[string]any{"lamports": lamports, "owner": owner.String(),
			"data":       []string{base64.StdEncoding.EncodeToString(data), "base64"},
			"executable": false, "rentEpoch": 0, "space": len(data)}
	}
	if t, ok := b.tokens[k]; ok {
		data := make([]byte, 165)
		copy(data, t.mint[:])
		copy(data[32:], t.owner[:])
		binary.LittleEndian.PutUint64(data[64:], t.amount)
		if data[108] = 1; t.frozen {
			data[108] = 2
		}
		return wrap(sol.TokenProgramID, 2_039_280, data)
	}
	switch k {
	case clock:
		data := make([]byte, 40)
		binary.LittleEndian.PutUint64(data, b.slot)
		binary.LittleEndian.PutUint64(data[32:], uint64(b.time.Unix()))
		return wrap(sol.MustPublicKeyFromBase58("Sysvar1111111111111111111111111111111111111"), 1, data)
	case usdc, otherUSD:
		data := make([]byte, 82)
		data[44], data[45] = 6, 1
		return wrap(sol.TokenProgramID, 1, data)
	}
	if n := b.lamports[k]; n > 0 {
		return wrap(sol.SystemProgramID, n, nil)
	}
	return nil
}
