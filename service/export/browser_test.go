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

	"zonedeck/internal/noerr"
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
	noerr.Must(t, os.WriteFile(file, []byte(script), 0o700))
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
			var users []string
			for i, req := range requests {
				page, err := os.ReadFile(filepath.Join(dir, files[i]+".out"))
				noerr.Must(t, err)
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
				users = append(users, userOf(req))
			}
			wantLogins(t, demo, users)
		})
	}
}

// The remote browser goes to the page, with the exit that the login asks for.
func TestTheRemoteBrowserGoesToThePage(t *testing.T) {
	dir := t.TempDir()
	modules(t, dir, "playwright")
	need(t, "chromium", "chromium")
	demo := servicetest.Emulator(t, emulator.Options{})
	zone := servicetest.Zone(demo.Profile, "browser_demo")
	for i, target := range []string{"playwright", "puppeteer"} {
		as, _ := export.Find(target)
		req := model.FetchRequest{Zone: zone, Via: model.ViaBrowser, URL: "https://lab.test/whoami?a='b'&é", Country: "de", Session: fmt.Sprintf("r%d", i)}
		s := export.Source{Profile: demo.Profile, Request: req}
		if i == 1 {
			s.Secret = demo.Password(zone)
		}
		code, err := as.Code(s)
		noerr.Must(t, err)
		file := target + ".mjs"
		write(t, dir, file, code)
		got := whoami(t, start(t, dir, []string{export.PasswordEnv + "=" + demo.Password(zone)}, "node", file))
		got.target = "/" + got.target
		req.URL = strings.Replace(req.URL, "/whoami", "", 1)
		for _, d := range differences(req, got) {
			t.Errorf("%s: %s", target, d)
		}
		wantLogins(t, demo, []string{userOf(req)})
	}
	for _, target := range export.Targets() {
		s := export.Source{Profile: demo.Profile, Request: model.FetchRequest{Zone: zone, Via: model.ViaBrowser, URL: "https://lab.test/"}}
		code, err := target.Code(s)
		switch target.Name {
		case "playwright", "puppeteer":
		case "url":
			if want := strings.Replace(demo.Profile.BrowserURL, "://", "://brd-customer-hl_demo01-zone-browser_demo:${ZONEDECK_ZONE_PASSWORD}@", 1) + "\n"; code != want {
				t.Errorf("%q, %v; want %q", code, err, want)
			}
		default:
			if err == nil || !strings.Contains(err.Error(), "Playwright and Puppeteer can do it") {
				t.Errorf("%s: %q, %v", target.Name, code, err)
			}
		}
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
	noerr.Must(t, err)
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
	wantLogins(t, demo, []string{user})
}
