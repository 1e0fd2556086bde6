package postgres

import (
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
)

// byteas encodes lists of keys and values as bytea[] in memory of the right size. The codec that it
// stands before has the memory grow value by value, which was a fifth of what a sale took of the
// process (BenchmarkSale).
type byteas struct{ pgtype.Codec }

// addByteas has a connection use it.
func addByteas(types *pgtype.Map) {
	if list, ok := types.TypeForOID(pgtype.ByteaArrayOID); ok {
		types.RegisterType(&pgtype.Type{Codec: byteas{list.Codec}, Name: list.Name, OID: list.OID})
	}
}

// PlanEncode implements [pgtype.Codec].
func (c byteas) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.([][]byte); ok && format == pgtype.BinaryFormatCode {
		return c
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// Encode implements [pgtype.EncodePlan]: array_send of PostgreSQL's
// src/backend/utils/adt/arrayfuncs.c, one dimension from 1 on without a null.
func (byteas) Encode(value any, buf []byte) ([]byte, error) {
	list := value.([][]byte)
	size := 20
	for _, v := range list {
		size += 4 + len(v)
	}
	buf = slices.Grow(buf, size)
	for _, n := range []int{1, 0, pgtype.ByteaOID, len(list), 1} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(n))
	}
	for _, v := range list {
		buf = append(binary.BigEndian.AppendUint32(buf, uint32(len(v))), v...)
	}
	return buf, nil
}
