package goods

import (
	"context"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// PorchLinePrice is what a line of the porch costs as a keepsake, in atomic units of USDC: the
// least that anything here costs.
const PorchLinePrice = content.USDC / 1000

// PorchDelivered is the line of one hour on the porch.
type PorchDelivered struct {
	Line    string `json:"line"`
	Hour    string `json:"hour"`    // RFC 3339 UTC, its beginning
	Weather string `json:"weather"` // of the shop
	// SealedWeek is the week of the record that the weather is of, an ISO week.
	SealedWeek string `json:"sealed_week,omitzero"`
}

// PorchKind is the kind of this hour's line, signed. The hour is that in which the payment is
// claimed: the till's terms name no line, so that nothing is promised which the turn of the hour
// would break, and who comes again gets the line that was signed first.
func PorchKind(porch content.Porch, weather func(time.Time) content.Weather) Kind {
	return Kind{Name: "porch_line", Delivers: PorchDelivered{},
		Artifact: &Artifact{Class: attest.ClassPorchLine, Prefix: "stamp_", Path: "/api/verify/",
			Payload: func(_ *Order, m *Made, f Facts) (any, error) {
				said, err := Delivered[PorchDelivered](m)
				return attest.PorchLine{StampID: f.ID, Class: attest.ClassPorchLine, Date: f.Date, Line: said.Line,
					Hour: said.Hour, Weather: said.Weather, SealedWeek: said.SealedWeek, FromTheStore: f.Store}, err
			}},
		Make: func(_ context.Context, _ Maker, o *Order) (*Made, error) {
			hour := o.At.UTC().Truncate(time.Hour)
			w := weather(hour)
			line := porch.Line(hour, w)
			m := &Made{Message: line}
			m.Deliver("porch_line", PorchDelivered{Line: line, Hour: moment(hour), Weather: w.Word, SealedWeek: w.Week})
			return m, nil
		}}
}
