package solana

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// version1 is the first byte of a transaction of version 1 (SIMD-0385), which no other begins with:
// it would be the number of its signatures in a longer form than need be.
const version1 = 0x81

// Limits of version 1.
const (
	maxKeysV1         = 64
	maxInstructionsV1 = 64
	maxSignersV1      = 12
)

// configuration is what a message of version 1 says in the place of instructions to the compute
// budget: a mask of what it sets, and that. What it does not set is 0.
type configuration struct {
	mask   uint32
	values []uint32
}

// Bits of the mask.
const (
	configFee    = 0b11 // priority fee in lamports: both bits, and 64 bits of value
	configUnits  = 1 << 2
	configMemory = 1 << 3 // bytes of loaded accounts
	configHeap   = 1 << 4
	configAll    = configFee | configUnits | configMemory | configHeap
)

// value is what is set at a bit, 0 where nothing is.
func (c configuration) value(bit uint32) uint32 {
	if c.mask&bit == 0 {
		return 0
	}
	return c.values[bits.OnesCount32(c.mask&(bit-1))]
}

// parseV1 reads a transaction of version 1 as strictly as the others: its message, and behind it
// one signature for each signer.
func parseV1(wire []byte) (*transaction, error) {
	if len(wire) > maxWireV1 {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", errWire, len(wire), maxWireV1)
	}
	r := &reader{rest: wire[1:]}
	m := parts{version: 1}
	m.signers, m.readonlySigned, m.readonlyUnsigned = int(r.byte()), int(r.byte()), int(r.byte())
	m.config.mask = r.uint32()
	m.blockhash = key(r.bytes(32))
	instructions, keys := int(r.byte()), int(r.byte())
	for range keys {
		m.keys = append(m.keys, key(r.bytes(32)))
	}
	for range bits.OnesCount32(m.config.mask) {
		m.config.values = append(m.config.values, r.uint32())
	}
	type size struct{ accounts, data int }
	var sizes []size
	for range instructions {
		m.instructions = append(m.instructions, instruction{program: r.byte()})
		sizes = append(sizes, size{int(r.byte()), int(r.uint16())})
	}
	for i, n := range sizes {
		m.instructions[i].accounts, m.instructions[i].data = r.bytes(n.accounts), r.bytes(n.data)
	}
	t := &transaction{parts: m, message: wire[:len(wire)-len(r.rest)]}
	for range min(m.signers, maxSignersV1) {
		t.signatures = append(t.signatures, [64]byte(r.bytes(64)))
	}
	fee := m.config.mask & configFee
	switch {
	case r.failed || len(r.rest) > 0:
		return nil, fmt.Errorf("%w: it is cut off or goes on", errWire)
	case m.config.mask&^configAll != 0 || fee != 0 && fee != configFee:
		return nil, fmt.Errorf("%w: it sets what there is not, or half a fee", errWire)
	case keys > maxKeysV1 || instructions == 0 || instructions > maxInstructionsV1 || m.signers > maxSignersV1:
		return nil, fmt.Errorf("%w: more accounts, instructions or signers than it may have", errWire)
	}
	return t, m.sane()
}

// encodeV1 is the message's bytes.
func (m *parts) encodeV1() []byte {
	b := append(make([]byte, 0, maxWireV1), version1, byte(m.signers), byte(m.readonlySigned), byte(m.readonlyUnsigned))
	b = binary.LittleEndian.AppendUint32(b, m.config.mask)
	b = append(append(b, m.blockhash[:]...), byte(len(m.instructions)), byte(len(m.keys)))
	for _, k := range m.keys {
		b = append(b, k[:]...)
	}
	for _, v := range m.config.values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, i := range m.instructions {
		b = binary.LittleEndian.AppendUint16(append(b, i.program, byte(len(i.accounts))), uint16(len(i.data)))
	}
	for _, i := range m.instructions {
		b = append(append(b, i.accounts...), i.data...)
	}
	return b
}
