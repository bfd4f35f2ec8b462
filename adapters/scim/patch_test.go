package scim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elimity-com/scim"
	"github.com/elimity-com/scim/schema"

	"github.com/atrium-hq/atrium/test/support/require"
)

// patched is a handler that applies PATCH to one resource.
type patched struct {
	scim.ResourceHandler
	attributes scim.ResourceAttributes
}

func (p *patched) Patch(_ *http.Request, id string, operations []scim.PatchOperation) (scim.Resource, error) {
	return scim.Resource{ID: id, Attributes: p.attributes}, apply(p.attributes, operations)
}

// TestPatch applies the operations of RFC 7644, section 3.5.2, and the ways in which providers spell them.
func TestPatch(t *testing.T) {
	const ann = `{"userName":"ann","active":true,"name":{"givenName":"Ann","familyName":"Lee"},` +
		`"emails":[{"value":"a@example.com","type":"work","primary":true},{"value":"h@example.com","type":"home"}]}`
	const group = `{"displayName":"G","members":[{"value":"a"},{"value":"b"}]}`
	for name, tt := range map[string]struct {
		of, operations, want string // what is in the result
		status               int
	}{
		"a value without a path":    {ann, `{"op":"replace","value":{"active":false}}`, `"active":false`, 200},
		"a path as a member's name": {ann, `{"op":"replace","value":{"name.familyName":"Li"}}`, `"familyName":"Li"`, 200},
		"a part of an object":       {ann, `{"op":"Replace","path":"name.givenName","value":"Anne"}`, `"familyName":"Lee","givenName":"Anne"`, 200},
		"an object that is merged":  {ann, `{"op":"add","path":"name","value":{"givenName":"Anne"}}`, `"familyName":"Lee","givenName":"Anne"`, 200},
		"any case":                  {ann, `{"op":"REPLACE","path":"USERNAME","value":"bob"}`, `"userName":"bob"`, 200},
		"with the schema's name": {ann, `{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:User:userName","value":"bob"}`,
			`"userName":"bob"`, 200},
		"a text for a boolean": {ann, `{"op":"replace","path":"active","value":"False"}`, `"active":false`, 200},
		"an item by its type": {ann, `{"op":"replace","path":"emails[type eq \"work\"].value","value":"w@example.com"}`,
			`"value":"w@example.com"`, 200},
		"an item that is not there": {`{"userName":"ann"}`, `{"op":"add","path":"emails[type eq \"work\"].value","value":"w@example.com"}`,
			`"emails":[{"type":"work","value":"w@example.com"}]`, 200},
		"removing an attribute":      {ann, `{"op":"remove","path":"name.givenName"}`, `"name":{"familyName":"Lee"}`, 200},
		"an extension is not stored": {ann, `{"op":"add","path":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department","value":"x"}`, `"userName":"ann"`, 200},
		"another member":             {group, `{"op":"add","path":"members","value":[{"value":"c"}]}`, `[{"value":"c"},{"value":"a"},{"value":"b"}]`, 200},
		"a member less":              {group, `{"op":"remove","path":"members[value eq \"a\"]"}`, `"members":[{"value":"b"}]`, 200},
		"members less, by value":     {group, `{"op":"remove","path":"members","value":[{"value":"a"},{"value":"z"}]}`, `"members":[{"value":"b"}]`, 200},
		"no member":                  {group, `{"op":"remove","path":"members"}`, `{"displayName":"G",`, 200},
		"other members":              {group, `{"op":"replace","path":"members","value":[{"value":"c"}]}`, `"members":[{"value":"c"}]`, 200},
		"a filter that is no equality": {group, `{"op":"remove","path":"members[value co \"a\"]"}`,
			`invalidFilter`, 400},
		"too many operations": {group, strings.TrimSuffix(strings.Repeat(`{"op":"remove","path":"members"},`, 1001), ","),
			`tooMany`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patched{}
			require.NoError(t, json.Unmarshal([]byte(tt.of), &p.attributes))
			kind, path := filtered(schema.CoreUserSchema()), "/Users"
			if tt.of == group {
				kind, path = filtered(schema.CoreGroupSchema()), "/Groups"
			}
			schema.SetAllowStringValues(true)
			server, err := scim.NewServer(&scim.ServerArgs{ServiceProviderConfig: &scim.ServiceProviderConfig{},
				ResourceTypes: []scim.ResourceType{{Name: "R", Endpoint: path, Schema: kind, Handler: p,
					SchemaExtensions: []scim.SchemaExtension{{Schema: schema.ExtensionEnterpriseUser()}}}}})
			require.NoError(t, err)
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "PATCH", path+"/1", strings.NewReader(
				`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[`+tt.operations+`]}`)))
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("answered %d %s\nwant %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestThePrimaryAddressCounts(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "",
		`{"emails":[{"value":"a@example.com"},{"value":"b@example.com"}]}`:                "a@example.com",
		`{"emails":[{"value":"a@example.com"},{"value":"b@example.com","primary":true}]}`: "b@example.com",
	} {
		var attributes map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &attributes))
		if got := personOf(attributes).Email; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
