package openapi_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
)

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := openapi.Load(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckBody(b *testing.B) {
	create := operation(b, "POST", "/api/prompt-templates")
	body := []byte(`{"name":"support/triage","type":"chat","description":"Sorts incoming mail.","tags":["support","mail"],"metadata":{"team":"42","cost_centre":7},"visibility":"workspace"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := create.CheckBody(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckEmptyQuery(b *testing.B) {
	list := operation(b, "GET", "/api/prompt-templates")
	b.ReportAllocs()
	for b.Loop() {
		if err := list.CheckQuery(""); err != nil {
			b.Fatal(err)
		}
	}
}
