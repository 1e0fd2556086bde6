package evm_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// bothOn is a rail on both contracts, for the rules that are shared with what plays them.
type bothOn struct {
	*channelsOn
	holds *holdsOn
}

// The contracts keep the rules that the simulated worlds of package till play.
func TestEscrowRules(t *testing.T) {
	railtest.RunEscrows(t, 14*24*time.Hour, func(t testing.TB) railtest.Escrows {
		h := openChannels(t, nil)
		both := &bothOn{h, &holdsOn{channelsOn: h}}
		both.holds.restart(time.Hour)
		return both
	})
}

func (h *bothOn) Rail() railtest.EscrowRail { return h.rail }

func (h *bothOn) Seal() { h.seal() }

func (h *bothOn) of(channel int) (token.Channel, chaintest.Key) {
	k := h.Buyers[channel]
	return h.channel(k, byte(channel)), k
}

func (h *bothOn) Deposit(channel int, amount int64) *rail.Payment {
	c, k := h.of(channel)
	h.want = h.rail.VoucherRequirement(1000, 0)
	p, err := h.parse(h.depositPayload(c, k, 1000, amount))
	if err != nil {
		h.t.Fatal(err)
	}
	return p.Deposit
}

func (h *bothOn) Voucher(channel int, most int64) (rail.Channel, rail.Voucher) {
	c, k := h.of(channel)
	h.want = h.rail.VoucherRequirement(1000, 0)
	p, err := h.parse(h.voucherPayload(c, k, most))
	if err != nil {
		h.t.Fatal(err)
	}
	return p.Channel, p.Voucher
}

// by has somebody call a contract, in a block.
func (h *bothOn) by(k chaintest.Key, to common.Address, data []byte) bool {
	tx := h.Send(k, to, data).Hash()
	h.seal()
	return h.Receipt(tx).Status == 1
}

func (h *bothOn) Withdraw(channel int, amount int64) bool {
	c, k := h.of(channel)
	return h.by(k, token.EscrowAddress, token.WithdrawCall(c, big.NewInt(amount)))
}

func (h *bothOn) Finalize(channel int) bool {
	c, k := h.of(channel)
	return h.by(k, token.EscrowAddress, token.FinishCall(c))
}

func (h *bothOn) Authorize(salt int) *rail.Authorization {
	k := h.Buyers[2]
	h.want = h.rail.HoldRequirement(held, h.holds.until)
	a, err := h.holds.verify(h.holds.holdPayload(h.holds.info(k.Address, byte(salt)), k))
	if err != nil {
		h.t.Fatal(fmt.Errorf("hold %d: %w", salt, err))
	}
	return a
}

func (h *bothOn) Reclaim(of rail.Hold) bool {
	to, data := h.rail.Reclaim(of)
	return h.by(h.Buyers[2], common.HexToAddress(to), data)
}
