package scim

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestNamesOfARequestHaveNoValues reads the names in bodies and filters.
func TestNamesOfARequestHaveNoValues(t *testing.T) {
	const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	for name, tt := range map[string]struct{ method, path, body, want string }{
		"a user": {"POST", "/Users", `{"schemas":["x"],"userName":"ann","name":{"givenName":"Ann"},
			"emails":[{"value":"a@x"},{"type":"work"}],"` + enterprise + `":{"manager":"boss"}}`,
			"emails emails.value emails.type name name.givenName " + enterprise + " " + enterprise + ":manager userName"},
		"a path with a condition": {"PATCH", "/Users/1", `{"Operations":[
			{"op":"replace","path":"emails[type eq \"work\"].value","value":"a@x"},
			{"op":"remove","path":"members[value eq \"usr_1]\"]"},{"op":"add","path":"emails[broken","value":1}]}`,
			"emails.value members emails"},
		"a value with names": {"PATCH", "/Users/1", `{"Operations":[{"op":"replace","value":
			{"active":false,"name.givenName":"Ann","emails[type eq \"work\"].value":"a@x"}}]}`,
			"active emails.value name.givenName"},
		"a filter": {"GET", "/Users?filter=" +
			`userName+eq+"ann"+or+not+(emails[type+eq+"work"].value+sw+"a"+and+externalId+pr)`, "",
			"userName emails.type emails.value externalId"},
		"a broken filter":    {"GET", "/Users?filter=ann+smith", "", "?"},
		"a search":           {"POST", "/Users/.search", `{"filter":"userName eq \"ann\""}`, "userName"},
		"a body of no JSON":  {"POST", "/Users", `ann`, ""},
		"a body of no names": {"PATCH", "/Users/1", `{"Operations":"ann"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var c call
			r := httptest.NewRequestWithContext(t.Context(), tt.method, Path+tt.path, strings.NewReader(tt.body))
			_ = c.prepare(r) // refused or not
			assert.Equal(t, "names", strings.Join(c.names, " "), tt.want)
		})
	}
}

func TestARefusalIsReadFromItsBody(t *testing.T) {
	w := &response{ResponseWriter: httptest.NewRecorder(), call: &call{},
		request: httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path+"/Users", http.NoBody)}
	w.refuse(errFilter)
	assert.Equal(t, "status", w.status, http.StatusBadRequest)
	assert.Equal(t, "code", w.refused.ScimType, "invalidFilter")
	assert.Equal(t, "detail", w.refused.Detail, errFilter.Detail)
}
