package model

import (
	"testing"
	"time"
)

func TestRecentFetchesOfAZone(t *testing.T) {
	at := func(zone string, c Class, ms int) HistoryEntry {
		return HistoryEntry{Zone: zone, Class: c, Total: time.Duration(ms) * time.Millisecond}
	}
	got := RecentOf([]HistoryEntry{
		at("a", ClassOK, 800), at("b", ClassCaptcha, 5), at("a", "", 1), at("a", ClassTimeout, 100), at("a", ClassOK, 200), at("a", ClassOK, 400), at("a", ClassOK, 1),
	}, 4)
	n, median := got["a"].Useful()
	if len(got["a"]) != 4 || n != 3 || median != 400*time.Millisecond {
		t.Errorf("%d fetches, %d useful, median %s; want 4, 3 and 400 ms: the newest, without those that have no verdict", len(got["a"]), n, median)
	}
	if bars := got["a"].Bars(); bars != "▅▃▂█" {
		t.Errorf("bars %q, want the oldest first and the longest highest", bars)
	}
	if n, median := got["b"].Useful(); n != 0 || median != 0 {
		t.Errorf("%d useful, %s; want none", n, median)
	}
	if bars := (Recent{at("a", ClassOK, 0)}).Bars(); bars != "▁" {
		t.Errorf("no time at all is %q", bars)
	}
}
