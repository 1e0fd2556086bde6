package solana

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// order is what a payment's message asks of the chain, once it was found to be of the one form that
// is taken.
type order struct {
	payer, source, mint, to key
	name                    string // of the payer, in base58
	amount                  uint64
	units                   uint32 // compute units at most
	price                   uint64 // of a unit, in millionths of a lamport
	memos                   []string
	behind                  []instruction // the transfer, without guards
	code                    string        // names the instructions that run code of the payer's choice, empty for none
}

// kinds of instructions.
const (
	setComputeUnitLimit = 2  // of the compute budget
	setComputeUnitPrice = 3  // of the compute budget
	transferChecked     = 12 // of a token program
)

// maxGuards is how many assertions of Lighthouse one payment may carry: wallets put them in front
// of a transfer and behind it.
const maxGuards = 8

// isGuard reports an assertion of Lighthouse, which reads accounts, lets the transaction fail or
// not, and changes nothing (AssertAccountData to AssertSysvarClock). Other instructions of that
// program write, or call others.
func (t *transaction) isGuard(i instruction) bool {
	return t.programOf(i) == programGuard && len(i.data) > 0 && i.data[0] >= 2 && i.data[0] <= 15
}

// payment are the instructions of a transaction without the guards, and how many those are.
func (t *transaction) payment() (list []instruction, guards int) {
	for _, i := range t.instructions {
		if t.isGuard(i) {
			guards++
		} else {
			list = append(list, i)
		}
	}
	return list, guards
}

// read checks all of a transaction that can be checked without its terms, in the order of the stock
// facilitator and with its codes (x402 3.4, steps 4 to 11). Stricter than stock: two signers
// exactly, no tables, lower caps, nothing behind the data of an instruction, the classic token
// program alone, from the associated account of the second signer, and the fee payer in no
// instruction's accounts but those of guards, which may stand anywhere. What was taken under other
// settings, another fee payer or higher caps, is read without them, and so is a transaction of
// version 1, which says what it may cost in its head.
func (r *Rail) read(t *transaction, settled bool) (order, *rail.Refusal) {
	if t.signers > 2 {
		return order{}, refuse(reasonSigners, "the fee payer and one payer sign, nobody else")
	}
	if t.keys[0] != r.feePayer && !settled {
		return order{}, refuse(reasonFeePayer, "the first account is not the fee payer of the terms")
	}
	if t.signers == 2 && !wallet.VerifySolana(t.keys[1], string(t.message), t.signatures[1][:]) {
		return order{}, refuse(reasonSignature, "the signature is not the payer's")
	}
	if len(t.lookups) > 0 {
		return order{}, refuse(reasonTables, "the message loads accounts from a table")
	}
	list, guards := t.payment()
	budget := 2 // instructions that say what it may cost
	if t.version == 1 {
		budget = 0
	}
	if len(list) <= budget || len(list) > budget+5 || guards > maxGuards {
		return order{}, refuse(reasonInstructions, "%d instructions and %d guards are not %d to %d and at most %d",
			len(list), guards, budget+1, budget+5, maxGuards)
	}
	var o order
	units, price := r.cfg.MaxUnits, r.cfg.MaxPrice
	if settled {
		units, price = math.MaxUint32, math.MaxUint64
	}
	if t.version == 1 {
		o.units = t.config.value(configUnits)
	} else if ref := readBudget(t, list, &o, units, price); ref != nil {
		return order{}, ref
	}
	if ref := readTransfer(t, list[budget], &o); ref != nil {
		return order{}, ref
	}
	for _, i := range list {
		if slices.Contains(i.accounts, 0) {
			return order{}, refuse(reasonIsolated, "the fee payer is among the accounts of an instruction")
		}
	}
	o.behind = list[budget+1:]
	readGuards(t, &o)
	o.name = o.payer.String()
	return o, nil
}

// readBudget reads the two instructions that bound what the transaction costs.
func readBudget(t *transaction, list []instruction, o *order, maxUnits uint32, maxPrice uint64) *rail.Refusal {
	limit, price := list[0], list[1]
	if t.programOf(limit) != programBudget || len(limit.data) != 5 || limit.data[0] != setComputeUnitLimit {
		return refuse(reasonLimit, "the first instruction does not set the compute unit limit")
	}
	if o.units = binary.LittleEndian.Uint32(limit.data[1:]); o.units > maxUnits {
		return refuse(reasonLimit+tooHigh, "a limit of %d compute units is above %d", o.units, maxUnits)
	}
	if t.programOf(price) != programBudget || len(price.data) != 9 || price.data[0] != setComputeUnitPrice {
		return refuse(reasonPrice, "the second instruction does not set the compute unit price")
	}
	if o.price = binary.LittleEndian.Uint64(price.data[1:]); o.price > maxPrice {
		return refuse(reasonPrice+tooHigh, "a price of %d millionths of a lamport is above %d", o.price, maxPrice)
	}
	return nil
}

// readTransfer reads the instruction that pays.
func readTransfer(t *transaction, i instruction, o *order) *rail.Refusal {
	if t.programOf(i) != programToken || len(i.accounts) < 4 || len(i.data) != 10 || i.data[0] != transferChecked {
		return refuse(reasonNoTransfer, "what follows limit and price is no TransferChecked of the token program")
	}
	for n, k := range []*key{&o.source, &o.mint, &o.to, &o.payer} {
		*k = t.keys[i.accounts[n]]
	}
	o.amount = binary.LittleEndian.Uint64(i.data[1:])
	switch {
	case i.accounts[3] == 0:
		return refuse(reasonOwnFunds, "the fee payer pays")
	case i.accounts[3] != 1 || t.signers != 2:
		return refuse(reasonSignature, "the account that pays is not the one that signs")
	case o.source != associated(o.payer, o.mint):
		// Of other accounts of the payer's, or of another's that he may spend from, Funds knows
		// nothing.
		return refuse(reasonNoTransfer, "the transfer is not from the payer's associated token account")
	}
	return nil
}

// readGuards collects memos and names the code that a wallet put beside the transfer.
func readGuards(t *transaction, o *order) {
	h := sha256.New()
	for _, i := range t.instructions {
		switch t.programOf(i) {
		case programMemo:
			o.memos = append(o.memos, string(i.data))
		case programGuard:
			h.Write(appendList(nil, i.data))
			o.code = hex.EncodeToString(h.Sum(nil))
		}
	}
}

// check compares an order with its terms: steps 12 to 14.
func (r *Rail) check(t *transaction, o order, want rail.Requirement) *rail.Refusal {
	amount, err := strconv.ParseUint(want.Amount, 10, 64)
	switch {
	case want.Asset != r.cfg.Asset || o.mint != r.mint:
		return refuse(reasonMint, "the payment is in another token")
	case o.to != r.account || want.PayTo != r.cfg.PayTo:
		return refuse(reasonRecipient, "the payment goes to another account")
	case o.source == o.to:
		return refuse(reasonRecipient, "the payment goes to where it comes from")
	case err != nil || o.amount != amount:
		return refuse(reasonAmount, "the payment is of another amount")
	}
	for n, i := range o.behind {
		if p := t.programOf(i); p != programMemo && p != programGuard {
			return refuse(unknownAt[n], "only memos and Lighthouse may stand behind the transfer")
		}
	}
	memo, _ := want.Extra["memo"].(string)
	switch {
	case want.Bare && o.code != "":
		return refuse(reasonInstructions, "by these terms no assertions of Lighthouse are taken")
	case memo == "":
	case len(o.memos) != 1:
		return refuse(reasonMemoCount, "%d memos are not one", len(o.memos))
	case o.memos[0] != memo:
		return refuse(reasonMemo, "the memo is not that of the terms")
	}
	return nil
}
