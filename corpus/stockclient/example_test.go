package stockclient_test

import (
	"fmt"

	"store.example/agentstore/corpus/stockclient"
)

// Select says which entry an unconfigured stock client would sign.
func ExampleSelect() {
	challenge := `{"x402Version":2,"accepts":[
		{"scheme":"exact","network":"eip155:8453","amount":"2000000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
		 "payTo":"0x2222222222222222222222222222222222222222","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}},
		{"scheme":"exact","network":"eip155:8453","amount":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
		 "payTo":"0x2222222222222222222222222222222222222222","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`
	client := stockclient.Clients()[0]
	index, throws, dropped, err := stockclient.Select([]byte(challenge), stockclient.Config{Client: client})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d %q\n", index, throws)
	for _, d := range dropped {
		fmt.Println(d.Index, d.Stage)
	}
	// Output:
	// 1 ""
	// 0 amount-cap
}
