package census

import (
	"context"
	"fmt"

	"store.example/agentstore/corpus/record"
)

// Declaration is what a host last declared, with the methods that its file gives for the doors, in
// their order; "" where it gives none, and none at all where they are not known.
type Declaration struct {
	record.Declaration
	Methods []string
}

// Declarations are what hosts declared of themselves and the record may not hold yet.
type Declarations interface {
	// Declared returns the last declaration of each host, sorted by host.
	Declared(ctx context.Context) ([]Declaration, error)
}

// Declared reads the doors that hosts declared, at most those of their own host: from the record's
// observations, and from fresh, which is newer; nil for none.
func Declared(name string, fresh Declarations) Source {
	return Source{Name: name, Kind: record.SourceDeclared, Read: func(ctx context.Context, on Reading,
		put func(Named)) error {
		last := map[string]Declaration{}
		var order []string
		take := func(d Declaration) {
			if _, ok := last[d.Host]; !ok {
				order = append(order, d.Host)
			}
			last[d.Host] = d
		}
		if on.Record != nil {
			all, err := on.Record.Observations()
			if err != nil {
				return fmt.Errorf("reading the record's declarations: %w", err)
			}
			for _, o := range all {
				if o.Kind == record.ObservationDeclaration && o.Declaration != nil {
					take(Declaration{Declaration: *o.Declaration})
				}
			}
		}
		var problem error
		if fresh != nil {
			list, err := fresh.Declared(ctx)
			if err != nil {
				problem = fmt.Errorf("reading fresh declarations: %w", err)
			}
			for _, d := range list {
				take(d)
			}
		}
		for _, host := range order {
			d := last[host]
			named := 0
			for i, door := range d.Doors {
				if hostOf(door) == host {
					n := Named{URL: door, By: "well-known"}
					if len(d.Methods) == len(d.Doors) {
						n.Method = d.Methods[i]
					}
					put(n)
					named++
				}
			}
			if named == 0 {
				put(Named{Host: host, Reason: "it declared no door on its own host"})
			}
		}
		return problem
	}}
}
