package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
)

// TestPurchasesOfTheSpecimen counts the store's own purchases from the record with the program that
// stands on /corpus/purchases, which comes to what is published.
func TestPurchasesOfTheSpecimen(t *testing.T) {
	needsPython(t)
	page, err := os.ReadFile(filepath.FromSlash("../../content/pages/record/purchases.md"))
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)[1]
	out, err := exec.Command(python, "-c", string(program), filepath.FromSlash("../../corpus")).Output()
	if err != nil {
		t.Fatal(err)
	}
	published, err := os.ReadFile(filepath.FromSlash("../../public/corpus/purchases.json"))
	if err != nil {
		t.Fatal(err)
	}
	type counts map[string]int64
	theirs, ours, all := map[string]counts{}, map[string]counts{}, counts{}
	var view struct {
		Weeks []struct {
			Week string
			Own  counts
		}
		All struct{ Own counts }
	}
	if err := errors.Join(json.Unmarshal(out, &theirs), json.Unmarshal(published, &view)); err != nil {
		t.Fatal(err)
	}
	for _, w := range view.Weeks {
		if w.Own["tried"] > 0 { // the program says nothing of what others told of
			ours[w.Week] = w.Own
		}
		for name, n := range w.Own {
			all[name] += n
		}
	}
	if !reflect.DeepEqual(theirs, ours) || !reflect.DeepEqual(all, view.All.Own) {
		t.Errorf("the page counts %v\nours %v of %v", theirs, ours, view.All)
	}
	if all["tried"] != 5 || all["delivered"] != 2 || all["charged"] != 3 || all["charged_not_delivered"] != 1 ||
		all["unanswered"] != 1 {
		t.Errorf("the specimen has %v", all)
	}
}
