// go run fetch.go
// ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo
// compared runs: 3 of 3 ok
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

func main() {
	if os.Getenv("ZONEDECK_ZONE_PASSWORD") == "" {
		log.Fatal("ZONEDECK_ZONE_PASSWORD is not set")
	}
	transport := &http.Transport{DisableCompression: true}
	transport.Proxy = http.ProxyURL(&url.URL{
		Scheme: "http",
		Host:   "proxy.test:33335",
		User:   url.UserPassword("brd-customer-hl_demo01-zone-unlocker_demo-country-de", os.Getenv("ZONEDECK_ZONE_PASSWORD")),
	})
	pem, err := os.ReadFile("/etc/service ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		log.Fatal(err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		log.Fatal("the file of the authority holds no certificate")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	request, err := http.NewRequest("POST", "https://shop.test/find?q=it%27s&x=%22%C3%A9%22", strings.NewReader(`{"name":"it's é"}`))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Add("Content-Type", "application/json")
	request.Header.Add("X-It", "it's 100%")
	request.Header.Add("X-It", "two")
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
