package solana_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/dynamic/rail"
)

// price is the amount of the terms, in atomic units.
const price = 500_000

// question is a payment against terms, for both facilitators.
type question struct {
	name    string
	payload []byte
	want    rail.Requirement
	reason  string // ours; "" is taken
	// stock is the stock facilitator's answer where it is another, each time a kinder one: "" is
	// taken, same the same.
	stock string
}

const same = "the same"

const code = "invalid_exact_svm_"

// world is a chain on which questions are asked.
type world interface {
	pay(amount int64) pay
	land(wire []byte) // with the fee payer's signature
	Pass(time.Duration)
	Rail() rail.Rail
}

// asking collects questions.
type asking struct {
	world
	t    testing.TB
	list []question
}

// ask adds a payment that was changed in some way.
func (a *asking) ask(name, reason string, change func(*pay)) *question {
	p := a.pay(price)
	if change != nil {
		change(&p)
	}
	return a.askWire(name, reason, p.wire(a.t))
}

func (a *asking) askWire(name, reason string, wire []byte) *question {
	return a.askPayload(name, reason, payload(wire))
}

func (a *asking) askPayload(name, reason string, data []byte) *question {
	if reason != "" && reason != "invalid_payload" {
		reason = code + reason
	}
	a.list = append(a.list, question{name: name, payload: data, want: a.Rail().Requirement(price), reason: reason,
		stock: same})
	return &a.list[len(a.list)-1]
}

// but says what the stock facilitator answers instead.
func (q *question) but(stock string) {
	if stock != "" && stock != "throws" {
		stock = code + stock
	}
	q.stock = stock
}

// asked changes the terms.
func (q *question) asked(change func(*rail.Requirement)) *question {
	q.want.Extra = maps.Clone(q.want.Extra)
	change(&q.want)
	return q
}

// at replaces one instruction.
func at(i int, program sol.PublicKey, data []byte, accounts ...*sol.AccountMeta) func(*pay) {
	return func(p *pay) {
		p.change = func(list []sol.Instruction) []sol.Instruction {
			list[i] = sol.NewInstruction(program, accounts, data)
			return list
		}
	}
}

// also adds instructions behind the payment's.
func also(more ...sol.Instruction) func(*pay) {
	return func(p *pay) {
		p.change = func(list []sol.Instruction) []sol.Instruction { return append(list, more...) }
	}
}

// before puts instructions in front.
func before(more ...sol.Instruction) func(*pay) {
	return func(p *pay) {
		p.change = func(list []sol.Instruction) []sol.Instruction { return append(more, list...) }
	}
}

// data changes the data of one of the payment's instructions.
func data(i int, change func([]byte) []byte) func(*pay) {
	return func(p *pay) {
		p.change = func(list []sol.Instruction) []sol.Instruction {
			b, _ := list[i].Data()
			list[i] = sol.NewInstruction(list[i].ProgramID(), list[i].Accounts(), change(slices.Clone(b)))
			return list
		}
	}
}

// metas changes the accounts of the transfer.
func metas(change func([]*sol.AccountMeta) []*sol.AccountMeta) func(*pay) {
	return func(p *pay) {
		p.change = func(list []sol.Instruction) []sol.Instruction {
			b, _ := list[2].Data()
			list[2] = sol.NewInstruction(list[2].ProgramID(), change(slices.Clone(list[2].Accounts())), b)
			return list
		}
	}
}

func note(text string) sol.Instruction { return sol.NewInstruction(memo, nil, []byte(text)) }

// questions are the table: what is taken, and what is refused with which code.
func questions(t testing.TB, w world) []question {
	a := &asking{world: w, t: t}
	a.landed()
	a.taken()
	a.guards()
	a.terms()
	a.wires()
	a.signers()
	a.budgets()
	a.transfers()
	a.behind()
	a.chain()
	return a.list
}

// assertion is an instruction of Lighthouse of so many bytes, which begin with what it asserts.
func assertion(kind byte, size int, account sol.PublicKey) sol.Instruction {
	data := append([]byte{kind}, make([]byte, size-1)...)
	return sol.NewInstruction(guard, sol.AccountMetaSlice{sol.Meta(account)}, data)
}

// phantom puts guards where Phantom puts them, three in front of the transfer and one behind the
// memo, some of which name the fee payer, and more behind those.
func phantom(more ...sol.Instruction) func(*pay) {
	return func(p *pay) {
		feePayer, who := p.feePayer.PublicKey(), p.buyer.PublicKey()
		p.change = func(list []sol.Instruction) []sol.Instruction {
			return slices.Concat(list[:2], []sol.Instruction{assertion(5, 17, feePayer), assertion(10, 52, who),
				assertion(9, 16, who)}, list[2:], []sol.Instruction{assertion(6, 27, feePayer)}, more)
		}
	}
}

// guards are what a wallet may put beside a payment, and what it may not.
func (a *asking) guards() {
	const length, isolated = "payload_transaction_instructions_length", "smart_wallet_fee_payer_not_isolated"
	feePayer, who := person("feepayer").PublicKey(), person("buyer-0").PublicKey()
	a.ask("guards as Phantom puts them", "", phantom()).but(length)
	more := slices.Repeat([]sol.Instruction{assertion(15, 9, who)}, 4)
	a.ask("eight guards", "", phantom(more...)).but(length)
	a.ask("nine guards", length, phantom(append(more, more[0])...))
	for kind, name := range map[byte]string{0: "writes", 1: "closes", 16: "calls a program", 200: "is not known"} {
		a.ask("a guard that "+name+" with the fee payer", isolated, also(assertion(kind, 9, feePayer))).but("")
		a.ask("a guard that "+name+" in front", "payload_transaction_instructions_compute_limit_instruction",
			before(assertion(kind, 9, who)))
	}
	a.ask("a guard in front that is empty", "payload_transaction_instructions_compute_limit_instruction",
		before(sol.NewInstruction(guard, nil, nil)))
	a.ask("a limit behind the guards", "payload_unknown_fifth_instruction",
		phantom(sol.NewInstruction(budget, nil, limitData(1_400_000)))).but(length)
}

func (a *asking) taken() {
	a.ask("as a stock buyer makes it", "", nil)
	a.ask("legacy", "", func(p *pay) { p.legacy = true })
	a.ask("without a memo", "", func(p *pay) { p.memo = "" })
	a.ask("two memos where none is asked", "", also(note("two")))
	a.ask("a guard", "", func(p *pay) { p.guards = []string{"x"} })
	a.ask("three guards", "", func(p *pay) { p.guards = []string{"x", "y", "z"} })
	a.ask("units at the cap", "", at(0, budget, limitData(100_000)))
	a.ask("price at the cap", "", at(1, budget, priceData(50_000)))
	a.ask("with the memo asked for", "",
		func(p *pay) { p.memo = "this" }).asked(func(r *rail.Requirement) { r.Extra["memo"] = "this" })
	garbage := a.pay(price).wire(a.t)
	copy(garbage[1:], bytes.Repeat([]byte{7}, 64))
	a.askWire("something in the fee payer's slot", "", garbage)
}

func (a *asking) terms() {
	a.ask("another scheme", "unsupported_scheme", nil).asked(func(r *rail.Requirement) { r.Scheme = "upto" })
	a.ask("terms without a fee payer", "payload_missing_fee_payer",
		nil).asked(func(r *rail.Requirement) { delete(r.Extra, "feePayer") })
	a.ask("terms with another's fee payer", "fee_payer_not_managed_by_facilitator", nil).
		asked(func(r *rail.Requirement) { r.Extra["feePayer"] = person("stranger").PublicKey().String() })
	a.ask("another amount asked", "payload_amount_mismatch",
		nil).asked(func(r *rail.Requirement) { r.Amount = "500001" })
	a.ask("another payTo asked", "payload_recipient_mismatch",
		nil).asked(func(r *rail.Requirement) { r.PayTo = person("stranger").PublicKey().String() })
	a.ask("another mint asked", "payload_mint_mismatch",
		nil).asked(func(r *rail.Requirement) { r.Asset = otherUSD.String() })
	a.ask("another memo asked", "payload_memo_mismatch",
		nil).asked(func(r *rail.Requirement) { r.Extra["memo"] = "this" })
	a.ask("no memo where one is asked", "payload_memo_count",
		func(p *pay) { p.memo = "" }).asked(func(r *rail.Requirement) { r.Extra["memo"] = "this" })
	a.ask("two memos where one is asked", "payload_memo_count", func(p *pay) {
		p.memo = "this"
		also(note("this"))(p)
	}).asked(func(r *rail.Requirement) { r.Extra["memo"] = "this" })
}

func (a *asking) wires() {
	const bad = "payload_transaction_could_not_be_decoded"
	good := a.pay(price).wire(a.t)
	a.askPayload("no transaction", "invalid_payload", []byte(`{}`)).but(bad)
	a.askPayload("a number", "invalid_payload", []byte(`{"transaction":7}`)).but(bad)
	a.askPayload("null", "invalid_payload", []byte(`null`)).but(bad)
	text := base64.StdEncoding.EncodeToString(good)
	a.askPayload("not base64", bad, []byte(`{"transaction":"!`+text[1:]+`"}`))
	a.askPayload("base64 without padding or in another alphabet", bad,
		[]byte(`{"transaction":"`+strings.TrimRight(text, "=")+`-"}`))
	a.askWire("empty", bad, nil)
	a.askWire("cut off", bad, good[:len(good)-1]).but("payload_signature_invalid")
	a.askWire("cut off in the keys", bad, good[:160])
	a.askWire("something behind it", bad, append(slices.Clone(good), 0)).but("payload_signature_invalid")
	a.askWire("a count in a longer form", bad,
		append([]byte{0x82, 0}, good[1:]...)).but("transaction_simulation_failed")
	a.askWire("more than fits a packet", bad, append(slices.Clone(good), make([]byte, 1000)...)).but(
		"payload_signature_invalid")
	three := append(append([]byte{3}, good[1:129]...), append(make([]byte, 64), good[129:]...)...)
	a.askWire("three signatures of two signers", bad, three)
	a.askWire("one signature of two signers", bad, append([]byte{1}, good[65:]...))
	five := slices.Clone(good)
	five[129] = 0x85
	const version = "unsupported_transaction_version"
	for name, wire := range map[string][]byte{"another version": five, "version 1": versionOne(good)} {
		q := a.askWire(name, bad, wire)
		q.reason = version
		q.but(bad)
	}
	nobody := slices.Clone(good)
	nobody[130] = 0
	a.askWire("no signers", bad, nobody)
}

// versionOne is a transaction of version 0 as it is in version 1: without the instructions to the
// compute budget, and unsigned.
func versionOne(wire []byte) []byte {
	tx, err := sol.TransactionFromBytes(wire)
	if err != nil {
		panic(err)
	}
	m := tx.Message
	list := m.Instructions[2:]
	b := []byte{0x81, m.Header.NumRequiredSignatures, m.Header.NumReadonlySignedAccounts,
		m.Header.NumReadonlyUnsignedAccounts, 0b1100, 0, 0, 0}
	b = append(append(b, m.RecentBlockhash[:]...), byte(len(list)), byte(len(m.AccountKeys)))
	for _, k := range m.AccountKeys {
		b = append(b, k[:]...)
	}
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 20_000), 1<<16)
	var bodies []byte
	for _, ix := range list {
		b = binary.LittleEndian.AppendUint16(append(b, byte(ix.ProgramIDIndex), byte(len(ix.Accounts))),
			uint16(len(ix.Data)))
		for _, a := range ix.Accounts {
			bodies = append(bodies, byte(a))
		}
		bodies = append(bodies, ix.Data...)
	}
	return append(append(b, bodies...), make([]byte, 64*int(m.Header.NumRequiredSignatures))...)
}

func (a *asking) signers() {
	a.ask("another fee payer", "fee_payer_mismatch", func(p *pay) { p.feePayer = person("stranger") })
	a.ask("the buyer pays the fee", "fee_payer_mismatch", func(p *pay) { p.feePayer = p.buyer })
	bad := a.pay(price).wire(a.t)
	bad[70] ^= 1
	a.askWire("a signature that is not the payer's", "payload_signature_invalid", bad)
	none := a.pay(price).wire(a.t)
	copy(none[65:], make([]byte, 64))
	a.askWire("no signature", "payload_signature_invalid", none)
	high := a.pay(price).wire(a.t)
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989",
		10)
	s := slices.Clone(high[97:129])
	slices.Reverse(s)
	n := new(big.Int).Add(new(big.Int).SetBytes(s), order)
	n.FillBytes(s)
	slices.Reverse(s)
	copy(high[97:], s)
	a.askWire("the same signature with a larger S", "payload_signature_invalid", high)
	changed := a.pay(price).wire(a.t)
	changed[len(changed)-2] ^= 1
	a.askWire("signed for another message", "payload_signature_invalid", changed)
	p := a.pay(price)
	also(sol.NewInstruction(memo, sol.AccountMetaSlice{sol.Meta(person("buyer-1").PublicKey()).SIGNER()}, []byte("x")))(
		&p)
	wire, _ := p.transaction(a.t, person("buyer-1")).MarshalBinary()
	a.askWire("a third signer", "payload_excessive_signers", wire)
	a.askWire("an account from a table", "smart_wallet_alt_resolution_not_available", a.tabled()).
		but("smart_wallet_alt_resolution_failed: Accounts not found at addresses: " +
			person("table").PublicKey().String())
}

// tabled is a payment that loads an account from a table, signed.
func (a *asking) tabled() []byte {
	p := a.pay(price)
	tx := p.transaction(a.t)
	b, _ := tx.Message.MarshalBinary()
	b = b[:len(b)-1] // the empty list of tables
	b = append(b, 1)
	table := person("table").PublicKey()
	b = append(append(b, table[:]...), 1, 0, 0)
	buyer := ed25519.PrivateKey(p.buyer)
	wire := append([]byte{2}, make([]byte, 64)...)
	return append(append(wire, ed25519.Sign(buyer, b)...), b...)
}

func (a *asking) budgets() {
	const limit, unit = "payload_transaction_instructions_compute_limit_instruction",
		"payload_transaction_instructions_compute_price_instruction"
	a.ask("two instructions", "payload_transaction_instructions_length", func(p *pay) {
		p.change = func(list []sol.Instruction) []sol.Instruction { return list[:2] }
	})
	a.ask("eight instructions", "payload_transaction_instructions_length",
		also(note("1"), note("2"), note("3"), note("4")))
	a.ask("no limit", limit, at(0, memo, []byte("x")))
	a.ask("limit and price change places", limit, at(0, budget, priceData(1)))
	a.ask("a heap in the limit's place", limit, at(0, budget, []byte{1, 0, 0, 1, 0}))
	a.ask("an empty limit", limit, at(0, budget, nil))
	a.ask("a short limit", limit, at(0, budget, []byte{2, 1, 1}))
	a.ask("something behind the limit", limit, at(0, budget, append(limitData(20_000), 0))).but("")
	a.ask("units above the cap", limit+"_too_high", at(0, budget, limitData(100_001)))
	a.ask("all units there are", limit+"_too_high", at(0, budget, limitData(1_400_000)))
	a.ask("no price", unit, at(1, memo, []byte("x")))
	a.ask("two limits", unit, at(1, budget, limitData(20_000)))
	a.ask("a short price", unit, at(1, budget, []byte{3, 1}))
	a.ask("something behind the price", unit, at(1, budget, append(priceData(1), 0))).but("")
	a.ask("a price above the cap", unit+"_too_high", at(1, budget, priceData(50_001)))
	a.ask("a price that burns the fee payer's lamports", unit+"_too_high", at(1, budget, priceData(5_000_000)))
	a.ask("a price of 2^64-1", unit+"_too_high", at(1, budget, priceData(1<<64-1)))
	nonce := person("nonce-account").PublicKey()
	advance := sol.NewInstruction(sol.SystemProgramID, sol.AccountMetaSlice{sol.Meta(nonce).WRITE(),
		sol.Meta(sol.SysVarRecentBlockHashesPubkey),
		sol.Meta(person("buyer-0").PublicKey()).SIGNER()}, []byte{4, 0, 0, 0})
	a.ask("a durable nonce", limit, before(advance))
}

func (a *asking) transfers() {
	const none = "payload_no_transfer_instruction"
	who := person("buyer-0").PublicKey()
	source, to := ata(a.t, who, usdc), ata(a.t, person("payto").PublicKey(), usdc)
	feePayer := person("feepayer").PublicKey()
	a.ask("a memo in the transfer's place", none, at(2, memo, []byte("x"), sol.Meta(who).SIGNER()))
	a.ask("transfer without check", none, at(2, sol.TokenProgramID, checkedData(price)[:9], sol.Meta(source).WRITE(),
		sol.Meta(to).WRITE(), sol.Meta(who).SIGNER(), sol.Meta(usdc)))
	a.ask("an approval in the transfer's place", none, data(2, func(b []byte) []byte { b[0] = 13; return b }))
	a.ask("a short transfer", none, data(2, func(b []byte) []byte { return b[:9] }))
	a.ask("something behind the transfer", none, data(2, func(b []byte) []byte { return append(b, 0) })).but("")
	a.ask("three accounts", none, metas(func(m []*sol.AccountMeta) []*sol.AccountMeta { return append(m[:2:2], m[3]) }))
	a.ask("the newer token program", none, func(p *pay) {
		p.change = func(list []sol.Instruction) []sol.Instruction {
			b, _ := list[2].Data()
			list[2] = sol.NewInstruction(token22, list[2].Accounts(), b)
			return list
		}
	}).but("payload_recipient_mismatch")
	a.ask("the fee payer's own money", "payload_transaction_fee_payer_transferring_funds", func(p *pay) {
		metas(func(m []*sol.AccountMeta) []*sol.AccountMeta {
			m[0], m[3] = sol.Meta(ata(a.t, feePayer, usdc)).WRITE(), sol.Meta(feePayer).SIGNER()
			return append(m, sol.Meta(who).SIGNER())
		})(p)
	})
	a.ask("an account of somebody who does not sign", "payload_signature_invalid",
		metas(func(m []*sol.AccountMeta) []*sol.AccountMeta {
			m[3] = sol.Meta(person("buyer-1").PublicKey())
			return append(m, sol.Meta(who).SIGNER())
		})).but("transaction_simulation_failed")
	a.ask("the fee payer among the accounts of the transfer", "smart_wallet_fee_payer_not_isolated",
		metas(func(m []*sol.AccountMeta) []*sol.AccountMeta {
			return append(m,
				sol.Meta(feePayer).WRITE().SIGNER())
		})).but("")
	a.ask("from another account of the buyer's", none, metas(func(m []*sol.AccountMeta) []*sol.AccountMeta {
		m[0] = sol.Meta(person("second").PublicKey()).WRITE()
		return m
	})).but("")
	a.ask("another mint", "payload_mint_mismatch", func(p *pay) { p.mint = otherUSD })
	a.ask("to another owner", "payload_recipient_mismatch", func(p *pay) { p.to = person("stranger").PublicKey() })
	a.ask("to payTo itself in place of its account", "payload_recipient_mismatch",
		metas(func(m []*sol.AccountMeta) []*sol.AccountMeta {
			m[2] = sol.Meta(person("payto").PublicKey()).WRITE()
			return m
		}))
	a.ask("from payTo's account to itself", "payload_recipient_mismatch",
		func(p *pay) { p.buyer = person("payto") }).but("")
	a.ask("less", "payload_amount_mismatch", func(p *pay) { p.amount = price - 1 })
	a.ask("more", "payload_amount_mismatch", func(p *pay) { p.amount = price + 1 })
	a.ask("2^64 more", "payload_amount_mismatch", func(p *pay) { p.amount = 1<<64 - 1 })
	half := sol.NewInstruction(sol.TokenProgramID, sol.AccountMetaSlice{sol.Meta(source).WRITE(), sol.Meta(usdc),
		sol.Meta(to).WRITE(), sol.Meta(who).SIGNER()}, checkedData(price/2))
	a.ask("the amount in two instructions", "payload_amount_mismatch", func(p *pay) {
		p.amount = price / 2
		also(half)(p)
	})
}

func (a *asking) behind() {
	feePayer, who := person("feepayer").PublicKey(), person("buyer-0").PublicKey()
	take := sol.NewInstruction(sol.SystemProgramID, sol.AccountMetaSlice{sol.Meta(feePayer).WRITE().SIGNER(),
		sol.Meta(who).WRITE()},
		binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, 1e6))
	a.ask("the fee payer's lamports", "smart_wallet_fee_payer_not_isolated",
		also(take)).but("payload_unknown_fifth_instruction")
	source := ata(a.t, who, usdc)
	a.ask("a close with its rent to the fee payer", "smart_wallet_fee_payer_not_isolated",
		also(sol.NewInstruction(sol.TokenProgramID, sol.AccountMetaSlice{sol.Meta(source).WRITE(),
			sol.Meta(feePayer).WRITE(), sol.Meta(who).SIGNER()}, []byte{9}))).
		but("payload_unknown_fifth_instruction")
	a.ask("a memo that the fee payer signs", "smart_wallet_fee_payer_not_isolated",
		also(sol.NewInstruction(memo, sol.AccountMetaSlice{sol.Meta(feePayer).SIGNER()}, []byte("x")))).but("")
	approve := sol.NewInstruction(sol.TokenProgramID, sol.AccountMetaSlice{sol.Meta(source).WRITE(),
		sol.Meta(person("stranger").PublicKey()), sol.Meta(who).SIGNER()},
		append([]byte{4}, make([]byte, 8)...))
	codes := []string{"fourth", "fifth", "sixth", "seventh"}
	for i, nth := range codes {
		a.ask("an approval as the "+nth, "payload_unknown_"+nth+"_instruction", func(p *pay) {
			p.memo = ""
			var more []sol.Instruction
			for n := range i {
				more = append(more, note(strings.Repeat("x", n+1)))
			}
			also(append(more, approve)...)(p)
		})
	}
	a.ask("another limit behind", "payload_unknown_fifth_instruction",
		also(sol.NewInstruction(budget, nil, limitData(1_400_000))))
	a.ask("a memo that fills the packet", "", func(p *pay) { p.memo = strings.Repeat("m", 700) })
}

func (a *asking) chain() {
	const fails = "transaction_simulation_failed"
	a.ask("more than the buyer has", fails, func(p *pay) { p.buyer = person("poor") })
	a.ask("a buyer without an account", fails, func(p *pay) { p.buyer = person("nobody") })
	a.ask("a blockhash of another chain", fails, func(p *pay) { p.blockhash = sol.Hash{1} })
	a.ask("wrong decimals", fails, data(2, func(b []byte) []byte { b[9] = 9; return b }))
	a.ask("a guard that refuses", fails, func(p *pay) { p.guards = []string{"W"} })
}

// landed asks about payments that were, or can no longer be, on the chain.
func (a *asking) landed() {
	const fails = "transaction_simulation_failed"
	old, done := a.pay(price).wire(a.t), a.pay(price).wire(a.t)
	a.land(done)
	a.Pass(61 * time.Second)
	a.askWire("an expired blockhash", fails, old)
	a.askWire("one that is on the chain for long", fails, done)
	done = a.pay(price).wire(a.t)
	a.land(done)
	a.askWire("one that is on the chain", fails, done)
	mutated := slices.Clone(done)
	copy(mutated[1:], bytes.Repeat([]byte{9}, 64))
	a.askWire("the same with another signature of the fee payer", fails, mutated)
}

func (h *harness) land(wire []byte) {
	h.mu.Lock()
	h.pool = append(h.pool, cosigned(h.t, wire))
	h.mu.Unlock()
	h.Seal()
}

// cosigned is a transaction with the fee payer's signature.
func cosigned(t testing.TB, wire []byte) []byte {
	tx, err := sol.TransactionFromBytes(wire)
	if err != nil {
		t.Fatal(err)
	}
	signed := slices.Clone(wire)
	copy(signed[1:], ed25519.Sign(ed25519.PrivateKey(person("feepayer")), message(tx)))
	return signed
}

// verdict is our reason, "" for a payment that is taken.
func verdict(t testing.TB, r rail.Rail, q question) string {
	t.Helper()
	p, err := r.Parse(q.payload, r.Requirement(price))
	if err == nil {
		_, err = r.Verify(t.Context(), p, q.want, time.Now())
	}
	if err == nil {
		return ""
	}
	ref, ok := errors.AsType[*rail.Refusal](err)
	if !ok {
		t.Fatalf("%s: %v", q.name, err)
	}
	return ref.Reason
}

func TestWhatIsTakenAndWhatIsRefused(t *testing.T) {
	h := open(t)
	qs := questions(t, h)
	refused := 0
	for _, q := range qs {
		if got := verdict(t, h.rail, q); got != q.reason {
			t.Errorf("%s: %q, want %q", q.name, got, q.reason)
		}
		if bare := q; q.reason == "" { // where the terms take nothing that wallets add
			bare.want.Bare = true
			if got := verdict(t, h.rail, bare); (got != "") != strings.Contains(q.name, "guard") {
				t.Errorf("%s, bare: %q", q.name, got)
			}
		}
		if q.reason != "" {
			refused++
		}
	}
	if refused < 50 {
		t.Errorf("%d refusals are fewer than 50", refused)
	}
	t.Logf("%d payments, %d refused", len(qs), refused)
}
