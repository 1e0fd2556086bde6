package kit

import (
	"cmp"
	"fmt"
	"slices"

	"store.example/agentstore/corpus/probe"
)

// A Row is what became of one check. Its State is not_reached with BlockedBy where something kept
// it from being made, and without where there was nothing to judge.
type Row struct {
	probe.VectorEntry
	Fix string `json:"fix,omitzero"` // of one that failed
}

// A Check is one thing that is seen to.
type Check struct {
	Name, Title, Reason, Fix string
}

// keep is how answers are not lost: one text, because one mistake makes them all fail.
const keep = "Store the answer under the payment (its PAYMENT-SIGNATURE, or payer and nonce) before it leaves, and " +
	"give that answer again when the same payment comes again; while the first is being worked on, let the second " +
	"wait for it or answer 409 with Retry-After. A payment that the chain has as settled was paid: look there before " +
	"you refuse it."

// Checks lists what is seen to, in the order of the rows.
func Checks() []Check {
	out := []Check{
		{"terms", "The door asks for something that this wallet can pay",
			"What cannot be signed is not bought.", "Ask for an exact payment in USDC on a network that the wallet " +
				"is on, below the cap; the reading's checks say what is wrong with the terms."},
		{"goods", "Who pays gets the good", "A payment was signed and presented once, and nothing was lost.",
			"Answer the paid request with the good: verify, make it, settle, answer. The door's own words stand " +
				"beside; its facilitator's log has the rest."},
		{"settlement", "PAYMENT-RESPONSE names the settlement",
			"Buyers book by it, and tell a second charge from a repeat by its transaction.",
			"Send PAYMENT-RESPONSE with success, transaction, network and payer on the answer that holds the good."},
		{"receipt", "The signed receipt verifies", "It is how a buyer proves the purchase to others.",
			"Sign the receipt of the offer-receipt extension with the key in the host's did.json, for this resource, " +
				"payer, network and transaction."},
		{"charged", "The money moved", "An authorization that is never used is a good that was given away.",
			"Settle before the answer leaves, and give the good only where settling succeeded."},
	}
	for _, w := range ways {
		fix := keep
		if w.payments > 1 {
			fix = "Know an order by its Idempotency-Key (or the id of payment-identifier) and payer: a second " +
				"payment for it is not settled, and is answered with the first one's answer. " + keep
		}
		out = append(out, Check{w.name, w.title, w.reason, fix})
	}
	return out
}

// Orders is how many orders are placed where the cap leaves room for all, and so how many payments
// a right door settles.
func Orders() int { return 1 + len(ways) }

// Payments is how many payments are signed for them at the most, each of which counts in full
// against the cap.
func Payments() int64 {
	n := int64(1)
	for _, w := range ways {
		n += w.payments
	}
	return n
}

func (r *run) add(name string, state probe.State, blockedBy, detail string) {
	row := Row{Name: name, State: state, BlockedBy: blockedBy, Detail: detail}
	for _, c := range Checks() {
		if c.Name == name && state == probe.Fail {
			row.Fix = c.Fix
		}
	}
	r.rows = append(r.rows, row)
}

func (r *run) pass(name, format string, args ...any) {
	r.add(name, probe.Pass, "", fmt.Sprintf(format, args...))
}

func (r *run) fail(name, format string, args ...any) {
	r.add(name, probe.Fail, "", fmt.Sprintf(format, args...))
}

func (r *run) blocked(name, by, detail string) { r.add(name, probe.NotReached, by, detail) }
func (r *run) notFound(name, detail string)    { r.add(name, probe.NotReached, "", detail) }

// inOrder sorts rows as Checks has them.
func inOrder(rows []Row) []Row {
	at := map[string]int{}
	for i, c := range Checks() {
		at[c.Name] = i
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(at[a.Name], at[b.Name]) })
	return rows
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
