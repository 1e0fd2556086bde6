package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

const (
	maxReceivers = 200    // addresses in one request for logs, halved while a node finds it too much
	maxAsked     = 20_000 // requests for logs of one count
)

// Observer reads what arrived at addresses on one network. It holds no key and sends nothing. Its
// methods may be called by several goroutines at once.
type Observer struct {
	cfg   Config
	rpc   *client
	asset common.Address
}

// NewObserver returns an observer of a network. Of cfg it takes Network, ChainID, RPC, Asset,
// GenesisHash, Depth and Poll, which is what it waits after a disturbance, doubled each time.
func NewObserver(cfg Config) (*Observer, error) {
	if cfg.Network != fmt.Sprintf("eip155:%d", cfg.ChainID) || !common.IsHexAddress(cfg.Asset) ||
		cfg.GenesisHash != "" && !isHash(cfg.GenesisHash) {
		return nil, fmt.Errorf("network %q: the chain id, asset or genesis hash is not right", cfg.Network)
	}
	c, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("network %q: %w", cfg.Network, err)
	}
	cfg.Depth = cmp.Or(cfg.Depth, 1)
	if cfg.Poll <= 0 {
		cfg.Poll = time.Second
	}
	return &Observer{cfg: cfg, rpc: c, asset: common.HexToAddress(cfg.Asset)}, nil
}

// Close lets go of idle connections.
func (o *Observer) Close() { o.rpc.Close() }

// Arrivals counts the transfers to addresses in blocks whose time is in [from, to). Addresses that
// are none are passed over, and so are transfers of nothing and of an address to itself. A network
// whose newest block of enough depth is older than to has not been seen to the end, which is an
// error, unless it is a local chain (Config.GenesisHash "").
func (o *Observer) Arrivals(ctx context.Context, addresses []string, from, to time.Time) (rail.Arrivals, error) {
	head, err := rail.Insist(ctx, o.cfg.Poll, func() (block, error) { return o.head(ctx, to) })
	if err != nil {
		return rail.Arrivals{}, err
	}
	first, err := o.firstAt(ctx, from, head)
	if err != nil {
		return rail.Arrivals{}, err
	}
	end, err := o.firstAt(ctx, to, head)
	if err != nil {
		return rail.Arrivals{}, err
	}
	c := count{o: o, end: end, received: map[common.Address]bool{}, total: new(big.Int)}
	receivers := distinct(addresses)
	for len(receivers) > 0 && first < end {
		n := min(len(receivers), maxReceivers)
		if err := c.add(ctx, first, receivers[:n]); err != nil {
			return rail.Arrivals{}, err
		}
		receivers = receivers[n:]
	}
	return rail.Arrivals{Transfers: c.transfers, Addresses: int64(len(c.received)), Total: c.total}, nil
}

// distinct are the addresses among texts, in order.
func distinct(texts []string) []common.Address {
	var out []common.Address
	for _, s := range texts {
		if a := common.HexToAddress(s); strings.HasPrefix(s, "0x") && common.IsHexAddress(s) &&
			a != (common.Address{}) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, common.Address.Cmp)
	return slices.Compact(out)
}

// head returns the newest block that has the depth at which it counts.
func (o *Observer) head(ctx context.Context, to time.Time) (head block, err error) {
	var id hexutil.Uint64
	var genesis block
	calls := []*call{{method: "eth_chainId", out: &id}, blockCall(0, &genesis), headCall(&head)}
	if err := o.rpc.batch(ctx, calls...); err != nil {
		return head, err
	}
	for _, k := range calls {
		if k.err != nil {
			return head, fmt.Errorf("%s: %w", k.method, k.err)
		}
	}
	switch {
	case uint64(id) != o.cfg.ChainID:
		return head, fmt.Errorf("the node is on chain %d", uint64(id))
	case o.cfg.GenesisHash != "" && genesis.Hash != common.HexToHash(o.cfg.GenesisHash):
		return head, errors.New("the node is on another chain with the same number")
	case o.cfg.Depth > 1:
		if head, err = o.block(ctx, head.Number-min(head.Number, o.cfg.Depth-1)); err != nil {
			return head, err
		}
	}
	if o.cfg.GenesisHash != "" && head.Time.Before(to) {
		return head, fmt.Errorf("its newest block that counts is of %s, before the end of the span",
			head.Time.Format(time.RFC3339))
	}
	return head, nil
}

// block reads one block, asking again where all nodes fail.
func (o *Observer) block(ctx context.Context, number uint64) (block, error) {
	return rail.Insist(ctx, o.cfg.Poll, func() (b block, err error) {
		k := blockCall(number, &b)
		err = errors.Join(o.rpc.batch(ctx, k), k.err)
		if err == nil && b.Number != number {
			err = errBehind
		}
		if err != nil {
			err = fmt.Errorf("reading block %d: %w", number, err)
		}
		return b, err
	})
}

// firstAt returns the number of the first block whose time is not before t, one more than head's
// for none.
func (o *Observer) firstAt(ctx context.Context, t time.Time, head block) (uint64, error) {
	low, high := uint64(0), head.Number+1 // it is in [low, high]
	for low < high {
		middle := low + (high-low)/2
		b := head
		if middle != head.Number {
			var err error
			if b, err = o.block(ctx, middle); err != nil {
				return 0, err
			}
		}
		if b.Time.Before(t) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// count is a count under way.
type count struct {
	o         *Observer
	end       uint64 // the block behind the last one
	asked     int
	transfers int64
	received  map[common.Address]bool
	total     *big.Int
}

// add counts what arrived at some addresses from a block on. What a node refuses is asked again in
// halves: of the blocks down to one, then of the addresses.
func (c *count) add(ctx context.Context, from uint64, receivers []common.Address) error {
	tries := rail.Tries{Wait: c.o.cfg.Poll}
	for size := uint64(firstWindow); from < c.end; {
		last := min(c.end-1, from+size-1)
		if c.asked++; c.asked > maxAsked {
			return fmt.Errorf("more than %d requests are needed", maxAsked)
		}
		logs, err := c.o.transfersTo(ctx, from, last, receivers)
		if _, refused := errors.AsType[*rail.NodeError](err); refused {
			switch {
			case last > from:
				size = max(1, (last-from+1)/2)
				continue
			case len(receivers) > 1:
				half := len(receivers) / 2
				if err := c.add(ctx, from, receivers[:half]); err != nil {
					return err
				}
				return c.add(ctx, from, receivers[half:])
			}
		}
		if err != nil {
			// A node may also break off what is too much for it.
			if err := tries.Again(ctx, fmt.Errorf("reading logs of blocks %d to %d: %w", from, last, err)); err != nil {
				return err
			}
			size = max(1, (last-from+1)/2)
			continue
		}
		for _, l := range logs {
			payer, payee, amount := common.BytesToAddress(l.Topics[1][:]), common.BytesToAddress(l.Topics[2][:]),
				new(big.Int).SetBytes(l.Data)
			if amount.Sign() == 0 || payer == payee {
				continue
			}
			c.transfers++
			c.received[payee] = true
			c.total.Add(c.total, amount)
		}
		tries = rail.Tries{Wait: c.o.cfg.Poll}
		from, size = last+1, min(2*size, firstWindow)
	}
	return nil
}

// transfersTo reads the Transfer logs to some addresses and checks that they are what was asked
// for. The last block is asked for beside, because a node that does not have it yet answers with no
// logs. A *rail.NodeError says that the node finds it too much.
func (o *Observer) transfersTo(ctx context.Context, from, to uint64, receivers []common.Address) ([]entry, error) {
	topics := make([]string, len(receivers))
	for i, a := range receivers {
		topics[i] = common.BytesToHash(a[:]).Hex()
	}
	var logs []entry
	var last block
	k, at := logsCall(o.asset, from, to, &logs, topicTransfer.Hex(), nil, topics), blockCall(to, &last)
	if err := o.rpc.batch(ctx, k, at); err != nil {
		return nil, broken{err}
	}
	if k.err != nil {
		return nil, k.err
	}
	if at.err != nil || last.Number != to {
		return nil, errBehind
	}
	type place struct{ block, index uint64 }
	seen := map[place]bool{}
	for _, l := range logs {
		p := place{uint64(l.Block), uint64(l.Index)}
		switch {
		case l.Address != o.asset || len(l.Topics) != 3 || l.Topics[0] != topicTransfer || len(l.Data) != 32 ||
			l.Removed || p.block < from || p.block > to ||
			!slices.Contains(receivers, common.BytesToAddress(l.Topics[2][:])) ||
			l.Topics[2] != common.BytesToHash(l.Topics[2][12:]):
			return nil, errors.New("a node returned a log that was not asked for")
		case seen[p]:
			return nil, errors.New("a node returned a log twice")
		}
		seen[p] = true
	}
	return logs, nil
}

// broken hides what a batch as a whole failed with, so that it is not taken for a refusal of the
// question.
type broken struct{ cause error }

func (b broken) Error() string { return b.cause.Error() }
