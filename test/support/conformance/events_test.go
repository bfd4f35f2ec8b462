package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
)

func TestTheSampleOfEachTypeOfEventMatchesItsSchema(t *testing.T) {
	for _, kind := range conformance.Contract(t).EventTypes() {
		sample, err := json.Marshal(kind.Sample)
		if err == nil {
			err = conformance.CheckEventData(kind.Type, string(sample))
		}
		assert.NoError(t, err)
		if kind.Summary == "" || kind.Since == "" || kind.Subject == "" {
			t.Errorf("%s is not described", kind.Type)
		}
	}
}

func TestDataThatTheCatalogueDoesNotDescribeIsFound(t *testing.T) {
	for name, c := range map[string]struct{ kind, data string }{
		"a type that does not exist":  {"workspace.painted", `{}`},
		"a member that is not listed": {"workspace.created", `{"slug":"a","colour":"red"}`},
		"a member that is missing":    {"workspace.created", `null`},
		"another type of value":       {"workspace.created", `{"slug":1}`},
		"another form of a change":    {"workspace.updated", `{"name":{"from":"a","to":"b","by":"c"}}`},
		"a time that is none":         {"trial.ending", `{"subscription_id":"s","plan_id":"p","trial_end":"soon","has_payment_method":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			if conformance.CheckEventData(c.kind, c.data) == nil {
				t.Error("it is accepted")
			}
		})
	}
}
