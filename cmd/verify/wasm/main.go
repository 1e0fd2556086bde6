//go:build js

package main

import (
	"context"
	"syscall/js"

	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

func main() {
	js.Global().Set("verifyStore", js.FuncOf(verifyStore))
	select {} // the function is called from outside
}

func verifyStore(_ js.Value, args []js.Value) any {
	// The files are copied before the caller goes on.
	files := make(map[string][]byte)
	for i := range args[0].Length() {
		f := args[0].Index(i)
		b := make([]byte, f.Get("bytes").Length())
		js.CopyBytesToGo(b, f.Get("bytes"))
		files[f.Get("name").String()] = b
	}
	o := verify.CloneOptions{Ring: []byte(args[1].Get("keys").String()), RecordOptions: verify.RecordOptions{
		Judge:      rejudge.Batteries{},
		Remembered: []byte(args[1].Get("checkpoint").String()),
		AsOf:       args[1].Get("asOf").String(),
		Progress:   func(done, all int64) { args[2].Invoke(done, all) },
	}}
	var run js.Func
	run = js.FuncOf(func(_ js.Value, promise []js.Value) any {
		go func() {
			defer run.Release()
			f, err := answer(context.Background(), files, o)
			if err != nil {
				promise[1].Invoke(js.Global().Get("Error").New(err.Error()))
				return
			}
			promise[0].Invoke(map[string]any{"sound": f.Sound, "unproven": f.Unproven, "text": f.Text,
				"report": f.Report, "head": f.Head})
		}()
		return nil
	})
	return js.Global().Get("Promise").New(run)
}
