package bulk

import (
	"fmt"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"store.example/agentstore/corpus/record"
)

// parquetFile is a table for columnar readers. Lists are of Parquet's logical type JSON, what may
// be absent is optional, and what stands in every row required.
type parquetFile struct {
	out  *sink
	rows *parquet.GenericWriter[any]
	row  parquet.Row
}

// rowsPerGroup bounds what is held in memory until it is written.
const rowsPerGroup = 1 << 14

// parquetSchema has the columns in their order.
var parquetSchema = parquet.SchemaOf(reflect.New(reflect.StructOf(parquetFields())).Interface())

func parquetFields() (fields []reflect.StructField) {
	types := map[string]reflect.Type{typeText: reflect.TypeFor[string](), typeInteger: reflect.TypeFor[int64](),
		typeFlag: reflect.TypeFor[bool](), typeList: reflect.TypeFor[string]()}
	for i, c := range columns {
		tag := c.name
		if c.absent {
			tag += ",optional"
		}
		if c.kind == typeList {
			tag += ",json"
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("C", i), Type: types[c.kind],
			Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,zstd"`, tag))})
	}
	return fields
}

func createParquet(w *writer, p *part) (rowWriter, error) {
	out, err := w.create(p.path)
	if err != nil {
		return nil, err
	}
	return &parquetFile{out: out, rows: parquet.NewGenericWriter[any](out, parquetSchema,
		parquet.CreatedBy("store-bulk", "v1", ""), parquet.MaxRowsPerRowGroup(rowsPerGroup))}, nil
}

func (t *parquetFile) add(_ *record.StoredRow, values []any) error {
	t.row = t.row[:0]
	for i, v := range values {
		defined := 0
		if columns[i].absent && v != nil {
			defined = 1
		}
		t.row = append(t.row, parquet.ValueOf(v).Level(0, defined, i))
	}
	_, err := t.rows.WriteRows([]parquet.Row{t.row})
	return err
}

func (t *parquetFile) finish() error { return t.rows.Close() }
func (t *parquetFile) close() error  { return t.out.close() }
