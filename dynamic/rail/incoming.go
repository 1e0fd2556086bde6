package rail

import "iter"

// Span is blocks that are to be read: from one to another, both with it.
type Span struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Before is where reading goes on in a network that lists the newest first: what is not before
	// this transaction was read. Only the rail that wrote it understands it.
	Before string `json:"before,omitzero"`
}

// Read reports whether there is nothing left to read.
func (s Span) Read() bool { return s.From > s.To }

// Piece is a part of what arrived in a span of blocks.
type Piece struct {
	Transfers []Transfer
	Rest      Span // what of the span is neither in this piece nor in one before it
}

const (
	// pieceBlocks is how many blocks a piece of Ascending has at most.
	pieceBlocks = 10_000
	// pieceTransfers is how many transfers it has at most, but for those of its last block.
	pieceTransfers = 200
)

// Ascending makes the pieces of a network whose transfers can be read from any block on. read lists
// those in the blocks from one to another, in order.
func Ascending(s Span, read func(from, to uint64) iter.Seq2[Transfer, error]) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		for from := s.From; ; {
			to := s.To
			if to > from {
				to = min(to, from+pieceBlocks-1)
			}
			var list []Transfer
			for t, err := range read(from, to) {
				if err != nil {
					yield(Piece{}, err)
					return
				}
				if len(list) >= pieceTransfers && t.Block > list[len(list)-1].Block {
					if !yield(Piece{list, Span{From: t.Block, To: s.To}}, nil) {
						return
					}
					list = nil
				}
				list = append(list, t)
			}
			from = to + 1
			if !yield(Piece{list, Span{From: from, To: s.To}}, nil) || to == s.To {
				return
			}
		}
	}
}

// Transfers are those of all pieces, one after the other.
func Transfers(pieces iter.Seq2[Piece, error]) iter.Seq2[Transfer, error] {
	return func(yield func(Transfer, error) bool) {
		for p, err := range pieces {
			if err != nil {
				yield(Transfer{}, err)
				return
			}
			for _, t := range p.Transfers {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}
