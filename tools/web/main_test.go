package main

import (
	"os"
	"strings"
	"testing"
)

func TestTheCommittedConsoleIsBuiltFromItsSources(t *testing.T) {
	want, err := fingerprint("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../" + sourcesFile)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(got)) != want {
		t.Error("web/dist is out of date: run .ci/run web")
	}
}
