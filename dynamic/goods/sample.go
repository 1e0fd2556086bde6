package goods

import (
	"context"
	"fmt"
	"time"

	"store.example/agentstore/content"
)

// SampleText stands in a sample for every text of the buyer's, so that nobody has words of his own
// signed for nothing.
const SampleText = "a specimen"

// HasSample reports whether a sample of a good can be made: one that is made of a text, of which
// the pools hold some.
func HasSample(good content.Good, pools Pools) bool {
	return good.Pool != "" && len(pools.Pool(good.Pool).Digests()) > 0
}

// SampleOrder is for whom a sample is made, when, and out of which pools.
type SampleOrder struct {
	Pools Pools
	Payer string
	At    time.Time
}

// Sample makes a good of any entry of the pools, for nobody: it reserves nothing, remembers nothing
// and changes nothing. What is numbered when it is paid for has no number.
func Sample(ctx context.Context, k Kind, good content.Good, o SampleOrder) (*Made, error) {
	d, ok := pick(o.Pools.Pool(good.Pool).Digests())
	if !ok {
		return nil, fmt.Errorf("goods: there is no text to make a sample of %s of", good.ID)
	}
	e, _ := o.Pools.Pool(good.Pool).Entry(d)
	inputs := make(map[string]string)
	for _, in := range good.Inputs {
		if in.Required {
			inputs[in.Name] = SampleText
		}
	}
	return k.Make(ctx, Maker{Pools: o.Pools}, &Order{ID: "sample " + d, Good: good, Inputs: inputs, Payer: o.Payer,
		At:    o.At,
		Entry: d, Word: foldWord(e.Word)})
}
