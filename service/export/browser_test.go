package export_test

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zonedeck/model"
	"zonedeck/service/emulator"
	"zonedeck/service/export"
	"zonedeck/service/servicetest"
)

// chromium is a program that starts the browser also for root, who needs it without its
// sandbox.
func chromium(t *testing.T, dir string) []string {
	t.Helper()
	file := filepath.Join(dir, "chromium")
	script := fmt.Sprintf("#!/bin/sh\nexec %s --no-sandbox \"$@\"\n", export.ShellQuote(need(t, "chromium", "chromium")))
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{"CHROMIUM=" + file, "PUPPETEER_EXECUTABLE_PATH=" + file}
}

// whoami is the page of the lab that says what arrived, as a browser shows it.
func whoami(t *testing.T, page string) arrived {
	t.Helper()
	_, text, _ := strings.Cut(page, "<pre>")
	text, _, ok := strings.Cut(text, "</pre>")
	if !ok {
		t.Fatalf("no page of the lab: %s", page)
	}
	var who struct {
		Method, Path, Body string
		Headers            http.Header
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(text)), &who); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return arrived{method: who.Method, target: strings.TrimPrefix(who.Path, "/whoami"), header: who.Headers, body: who.Body}
}

func TestWhatABrowserSendsIsTheForm(t *testing.T) {
	for _, target := range []string{"playwright", "puppeteer"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			modules(t, dir, target)
			env := chromium(t, dir)
			demo := servicetest.Emulator(t, emulator.Options{})
			zone := servicetest.Zone(demo.Profile, "residential_demo")
			as, _ := export.Find(target)
			r := rand.New(rand.NewPCG(8, 24))
			var files []string
			var requests []model.FetchRequest
			for refused := 0; len(files) < 6; {
				req := fuzzed(t, r, []string{"http://lab.test/whoami", "https://lab.test/whoami"}[len(files)%2], zone, model.ViaNative)
				path, _, _ := strings.Cut(req.URL, "?")
				code, err := as.Code(export.Source{Profile: demo.Profile, Request: req})
				switch {
				case strings.Count(path, "/") > 3: // the lab has one such page
				case err != nil:
					if refused++; refused > 500 {
						t.Fatal("it refuses everything: ", err)
					}
				default:
					name := fmt.Sprintf("f%d.mjs", len(files))
					write(t, dir, name, code)
					files, requests = append(files, name), append(requests, req)
				}
			}
			runNode(t, dir, files, append(env, export.PasswordEnv+"="+demo.Password(zone)))
			users := strings.Join(logins(t, demo), "\n")
			for i, req := range requests {
				page, err := os.ReadFile(filepath.Join(dir, files[i]+".out"))
				if err != nil {
					t.Fatal(err)
				}
				got := whoami(t, string(page))
				// A page shows a carriage return as a line break.
				got.body, req.Body = strings.ReplaceAll(got.body, "\r\n", "\n"), strings.ReplaceAll(req.Body, "\r\n", "\n")
				req.URL = "http://lab.test" + strings.TrimPrefix(strings.TrimPrefix(req.URL, "https://lab.test/whoami"), "http://lab.test/whoami")
				if !strings.Contains(got.target, "/") {
					got.target = "/" + got.target
				}
				for _, d := range differences(req, got) {
					t.Errorf("%d: %s\n%+v", i, d, req)
				}
				if !strings.Contains(users, "-session-"+req.Session) {
					t.Errorf("%d: nobody logged in with session %s", i, req.Session)
				}
			}
		})
	}
}

// The browser asks the PAC file which way to go, and whoever drives it for the login.
func TestABrowserTakesThePACFile(t *testing.T) {
	dir := t.TempDir()
	modules(t, dir, "puppeteer")
	env := chromium(t, dir)
	demo := servicetest.Emulator(t, emulator.Options{})
	zone := servicetest.Zone(demo.Profile, "datacenter_demo")
	as, _ := export.Find("pac")
	const user = "brd-customer-hl_demo01-zone-datacenter_demo-session-pac1"
	code, err := as.Code(export.Source{Profile: demo.Profile, Username: user, Request: model.FetchRequest{Via: model.ViaNative, Zone: zone}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "proxy.pac", code)
	write(t, dir, "drive.mjs", `
import puppeteer from "puppeteer";
import { readFileSync } from "node:fs";
const pac = readFileSync("proxy.pac").toString("base64");
const browser = await puppeteer.launch({ args: ["--proxy-pac-url=data:application/x-ns-proxy-autoconfig;base64," + pac] });
try {
  const page = await browser.newPage();
  await page.authenticate({ username: process.env.LOGIN, password: process.env.ZONEDECK_ZONE_PASSWORD });
  await page.goto("http://lab.test/whoami?by=pac");
  process.stdout.write(await page.content());
} finally {
  await browser.close();
}
`)
	out := start(t, dir, append(env, "LOGIN="+user, export.PasswordEnv+"="+demo.Password(zone)), "node", "drive.mjs")
	if got := whoami(t, out); got.target != "?by=pac" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(strings.Join(logins(t, demo), "\n"), user) {
		t.Error("nobody logged in with the name that the file says")
	}
}
