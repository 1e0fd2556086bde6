package keeper

import (
	"encoding/csv"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// CSV writes the lines of the books as a table (RFC 4180). No cell is a formula to a program that
// opens it: one that begins like one begins with an apostrophe, and numbers are numbers.
func (b Books) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"network", "time", "block", "tx", "log_index", "purchase_id", "item_id", "state", "category",
		"chain_atomic", "ledger_atomic", "explained_atomic", "difference_atomic", "kinds", "says"}}
	for _, l := range b.Lines {
		kinds := make([]string, len(l.Kinds))
		for i, k := range l.Kinds {
			kinds[i] = string(k)
		}
		rows = append(rows, []string{l.Network, l.Time.Format(time.RFC3339), strconv.FormatUint(l.Block, 10), l.Tx,
			strconv.FormatUint(l.LogIndex, 10), l.PurchaseID, l.Item, l.State, string(l.Category), number(l.Chain),
			number(l.Ledger), number(l.Explained), number(l.Difference), strings.Join(kinds, " "),
			strings.Join(l.Says, " ")})
	}
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

var numberForm = regexp.MustCompile(`^-?[0-9]+$`)

// cell is a text as a spreadsheet shows it and does nothing else with it.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0])) && !numberForm.MatchString(s) {
		return "'" + s
	}
	return s
}
