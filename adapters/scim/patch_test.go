package scim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elimity-com/scim"

	"github.com/atrium-hq/atrium/test/support/require"
)

// patched is a handler that applies PATCH to one resource.
type patched struct {
	scim.ResourceHandler
	kind       kind
	attributes scim.ResourceAttributes
}

func (p *patched) Patch(_ *http.Request, id string, operations []scim.PatchOperation) (scim.Resource, error) {
	return scim.Resource{ID: id, Attributes: p.attributes}, apply(p.kind, p.attributes, operations)
}

// rewritten sends a request to the library as Serve does.
func rewritten(t *testing.T, k kind, h scim.ResourceHandler, method, body string) *httptest.ResponseRecorder {
	t.Helper()
	server, err := scim.NewServer(&scim.ServerArgs{ServiceProviderConfig: &scim.ServiceProviderConfig{},
		ResourceTypes: []scim.ResourceType{{Name: "R", Endpoint: "/R", Schema: k.schema, Handler: h}}})
	require.NoError(t, err)
	recorder := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, "/R/1", strings.NewReader(body))
	w := &response{ResponseWriter: recorder, request: r, call: &call{}}
	if err := w.call.rewrite(r, k); err != nil {
		w.refuse(err)
	} else {
		server.ServeHTTP(w, r)
	}
	return recorder
}

// TestPatch applies the operations of RFC 7644, section 3.5.2, and the ways in which providers spell them.
func TestPatch(t *testing.T) {
	const ann = `{"userName":"ann","active":true,"name":{"givenName":"Ann","familyName":"Lee"},` +
		`"emails":[{"value":"a@example.com","type":"work","primary":true}]}`
	const group = `{"displayName":"G","members":[{"value":"a"},{"value":"b"}]}`
	const enterprise = `urn:ietf:params:scim:schemas:extension:enterprise:2.0:User`
	for name, tt := range map[string]struct {
		before, operations, want string // what is in the result
		status                   int
	}{
		"a value without a path":    {ann, `{"op":"replace","value":{"active":false}}`, `"active":false`, 200},
		"a path as a member's name": {ann, `{"op":"replace","value":{"name.familyName":"Li"}}`, `"familyName":"Li"`, 200},
		"a part of an object":       {ann, `{"op":"Replace","path":"name.givenName","value":"Anne"}`, `"familyName":"Lee","givenName":"Anne"`, 200},
		"an object that is merged":  {ann, `{"op":"add","path":"name","value":{"givenName":"Anne"}}`, `"familyName":"Lee","givenName":"Anne"`, 200},
		"any case":                  {ann, `{"op":"REPLACE","path":"USERNAME","value":"bob"}`, `"userName":"bob"`, 200},
		"with the schema's name": {ann, `{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:User:userName","value":"bob"}`,
			`"userName":"bob"`, 200},
		"a text for a boolean":         {ann, `{"op":"replace","path":"active","value":"False"}`, `"active":false`, 200},
		"a boolean in a list":          {ann, `{"op":"replace","path":"active","value":[{"$ref":null,"value":"False"}]}`, `"active":false`, 200},
		"another text for a boolean":   {ann, `{"op":"replace","path":"active","value":"no"}`, `invalidValue`, 400},
		"a number for a boolean":       {ann, `{"op":"replace","path":"active","value":0}`, `invalidValue`, 400},
		"an item by its type":          {ann, `{"op":"replace","path":"emails[type eq \"work\"].value","value":"w@example.com"}`, `"value":"w@example.com"`, 200},
		"an item that is primary":      {ann, `{"op":"replace","path":"emails[primary eq true].value","value":"w@example.com"}`, `"value":"w@example.com"`, 200},
		"an item that is \"True\"":     {ann, `{"op":"replace","path":"emails[primary eq \"True\"].value","value":"w@example.com"}`, `[{"primary":true,"type":"work","value":"w@example.com"}]`, 200},
		"a text for a list of objects": {ann, `{"op":"replace","path":"emails","value":"w@example.com"}`, `"emails":[{"value":"w@example.com"}]`, 200},
		"an item that is not there": {`{"userName":"ann"}`, `{"op":"add","path":"emails[type eq \"work\"].value","value":"w@example.com"}`,
			`"emails":[{"type":"work","value":"w@example.com"}]`, 200},
		"removing an attribute":       {ann, `{"op":"remove","path":"name.givenName"}`, `"name":{"familyName":"Lee"}`, 200},
		"replacing by nothing":        {ann, `{"op":"replace","path":"name.givenName","value":null}`, `"name":{"familyName":"Lee"}`, 200},
		"a department":                {ann, `{"op":"add","path":"` + enterprise + `:department","value":"x"}`, `"userName":"ann"`, 200},
		"a manager's id":              {ann, `{"op":"add","path":"` + enterprise + `:manager","value":"2c2f"}`, `"userName":"ann"`, 200},
		"a manager as an object":      {ann, `{"op":"add","path":"` + enterprise + `:manager","value":{"value":"2c2f","$ref":7}}`, `"userName":"ann"`, 200},
		"a manager in a list":         {ann, `{"op":"add","path":"` + enterprise + `:manager","value":[{"$ref":"x","value":"2c2f"}]}`, `"userName":"ann"`, 200},
		"an extension as an object":   {ann, `{"op":"add","value":{"` + enterprise + `":{"manager":7}}}`, `"userName":"ann"`, 200},
		"a custom extension":          {ann, `{"op":"replace","path":"urn:example:params:scim:schemas:2.0:CustomUser:tag-1.a b","value":1}`, `"userName":"ann"`, 200},
		"attributes not stored":       {ann, `{"op":"add","path":"phoneNumbers[type eq \"mobile\"].value","value":7},{"op":"replace","path":"roles[primary eq \"True\"].value","value":[]}`, `"userName":"ann"`, 200},
		"one stored among others":     {ann, `{"op":"add","path":"title","value":7},{"op":"replace","path":"userName","value":"bob"}`, `"userName":"bob"`, 200},
		"an op that does not exist":   {ann, `{"op":"move","path":"title","value":7}`, `invalidValue`, 400},
		"a malformed path":            {ann, `{"op":"replace","path":"active[","value":true}`, `invalidPath`, 400},
		"a path without a name":       {ann, `{"op":"replace","path":"[x]","value":true}`, `invalidPath`, 400},
		"a removal without a path":    {ann, `{"op":"remove"}`, `noTarget`, 400},
		"no target for a condition":   {ann, `{"op":"replace","path":"emails[type sw \"h\"].value","value":"h@example.com"}`, `noTarget`, 400},
		"another member":              {group, `{"op":"add","path":"members","value":[{"value":"c"}]}`, `[{"value":"c"},{"value":"a"},{"value":"b"}]`, 200},
		"a member as an object":       {group, `{"op":"add","path":"members","value":{"value":"c"}}`, `[{"value":"c"},{"value":"a"},{"value":"b"}]`, 200},
		"members as texts":            {group, `{"op":"add","path":"members","value":["c"]}`, `[{"value":"c"},{"value":"a"},{"value":"b"}]`, 200},
		"a member less":               {group, `{"op":"remove","path":"members[value eq \"a\"]"}`, `"members":[{"value":"b"}]`, 200},
		"a member less, of several":   {group, `{"op":"remove","path":"members[value eq \"a\" or value eq \"z\"]"}`, `"members":[{"value":"b"}]`, 200},
		"members less, by value":      {group, `{"op":"remove","path":"members","value":[{"value":"a"},{"value":"z"}]}`, `"members":[{"value":"b"}]`, 200},
		"no member":                   {group, `{"op":"remove","path":"members"}`, `{"displayName":"G",`, 200},
		"other members":               {group, `{"op":"replace","path":"members","value":[{"value":"c"}]}`, `"members":[{"value":"c"}]`, 200},
		"no members, as an empty one": {group, `{"op":"replace","path":"members","value":[]}`, `"members":null`, 200},
		"the group's id":              {group, `{"op":"replace","value":{"id":"x","displayName":"H"}}`, `"displayName":"H"`, 200},
		"a filter that is none":       {group, `{"op":"remove","path":"members[value gt \"a\"]"}`, `invalidFilter`, 400},
		"a key that is there twice":   {group, `{"op":"remove","op":"add","path":"members"}`, `invalidSyntax`, 400},
		"no operations":               {group, ``, `invalidValue`, 400},
		"too many operations": {group, strings.TrimSuffix(strings.Repeat(`{"op":"remove","path":"members"},`, 1001), ","),
			`tooMany`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patched{kind: userKind}
			require.NoError(t, json.Unmarshal([]byte(tt.before), &p.attributes))
			if tt.before == group {
				p.kind = groupKind
			}
			w := rewritten(t, p.kind, p, "PATCH", `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],`+
				`"Operations":[`+tt.operations+`]}`)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("answered %d %s\nwant %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

// created is a handler that returns the attributes of POST.
type created struct{ scim.ResourceHandler }

func (created) Replace(_ *http.Request, id string, attributes scim.ResourceAttributes) (scim.Resource, error) {
	return scim.Resource{ID: id, Attributes: attributes}, nil
}

func TestOnlyWhatIsStoredIsLookedAt(t *testing.T) {
	for name, tt := range map[string]struct {
		body, want string
		status     int
	}{
		"a manager as a string": {`{"userName":"ann","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":` +
			`{"manager":"boss@example.com"}}`, `"userName":"ann"`, 200},
		"no schemas":                    {`{"userName":"ann"}`, `"userName":"ann"`, 200},
		"other types":                   {`{"userName":"ann","title":7,"addresses":"x","password":{},"schemas":1}`, `"userName":"ann"`, 200},
		"null":                          {`{"userName":"ann","displayName":null,"emails":null}`, `"userName":"ann"`, 200},
		"parts that are not stored":     {`{"userName":"ann","name":{"middleName":7,"givenName":"Ann"}}`, `"name":{"givenName":"Ann"}`, 200},
		"another type of what is":       {`{"userName":7}`, `invalidValue`, 400},
		"no userName":                   {`{"displayName":"Ann"}`, `invalidValue`, 400},
		"a name that is there twice":    {`{"userName":"ann","userName":"bob"}`, `invalidSyntax`, 400},
		"a name in two cases":           {`{"userName":"ann","USERNAME":"bob"}`, `invalidSyntax`, 400},
		"a list":                        {`[]`, `invalidSyntax`, 400},
		"what goes on":                  {`{"userName":"ann"} {}`, `invalidSyntax`, 400},
		"active in another way":         {`{"userName":"ann","active":"yes"}`, `invalidValue`, 400},
		"active as a text":              {`{"userName":"ann","active":"False"}`, `"active":false`, 200},
		"an address without its object": {`{"userName":"ann","emails":["a@example.com"]}`, `"emails":[{"value":"a@example.com"}]`, 200},
	} {
		t.Run(name, func(t *testing.T) {
			w := rewritten(t, userKind, created{}, "PUT", tt.body)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("answered %d %s\nwant %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestThePrimaryAddressCounts(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "",
		`{"emails":[{"value":"a@example.com"},{"value":"b@example.com"}]}`:                "a@example.com",
		`{"emails":[{"value":"a@example.com"},{"value":"b@example.com","primary":true}]}`: "b@example.com",
		`{"emails":[{"type":"work"},{"value":"b@example.com","type":"other"}]}`:           "b@example.com",
	} {
		var attributes map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &attributes))
		if got := personOf(attributes, true).Email; got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}

func TestFiltersAreWrittenAsTheStandardDoes(t *testing.T) {
	for sent, want := range map[string]string{
		`userName eq "ann"`:                           `userName eq "ann"`,
		`emails[type eq "work"].value eq "a]@b"`:      `emails[type eq "work" and value eq "a]@b"]`,
		`emails[type eq "work"].value pr and id pr`:   `emails[type eq "work" and value pr] and id pr`,
		`displayName eq "emails[type eq x].value pr"`: `displayName eq "emails[type eq x].value pr"`,
	} {
		got, err := standardFilter(sent)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v", sent, got, err)
		}
	}
}

func TestAResponseHasTheChosenAttributes(t *testing.T) {
	const ann = `{"active":true,"emails":[{"type":"work","value":"a"}],"id":"1","meta":{"version":"v"},` +
		`"name":{"familyName":"Lee","givenName":"Ann"},"schemas":["s"]}`
	for name, tt := range map[string]struct {
		only, without, want string
	}{
		"all":                {"", "", ann},
		"one":                {"active", "", `{"active":true,"id":"1","schemas":["s"]}`},
		"a part":             {"name.givenName", "", `{"id":"1","name":{"givenName":"Ann"},"schemas":["s"]}`},
		"a part of a list":   {"EMAILS.value", "", `{"emails":[{"value":"a"}],"id":"1","schemas":["s"]}`},
		"with its schema":    {"urn:ietf:params:scim:schemas:core:2.0:User:active", "", `{"active":true,"id":"1","schemas":["s"]}`},
		"all but some":       {"", "emails, meta,name.familyName,id", `{"active":true,"id":"1","name":{"givenName":"Ann"},"schemas":["s"]}`},
		"none that there is": {"title", "", `{"id":"1","schemas":["s"]}`},
	} {
		c := choice{attributeNames(tt.only), attributeNames(tt.without)}
		if got := string(c.filter([]byte(ann))); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestVersionsAreCompared(t *testing.T) {
	for header, want := range map[string]int{
		``: 200, `W/"v"`: 304, `"v"`: 304, `"u", W/"v"`: 304, `*`: 304, `"u"`: 200,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", http.NoBody)
		if header != "" {
			r.Header.Set("If-None-Match", header)
		}
		recorder := httptest.NewRecorder()
		w := &response{ResponseWriter: recorder, request: r, call: &call{}}
		w.Header().Set("Etag", `W/"v"`)
		w.WriteHeader(200)
		_, _ = io.WriteString(w, "{}")
		if recorder.Code != want || (want == 304) != (recorder.Body.Len() == 0) {
			t.Errorf("%s: %d %s", header, recorder.Code, recorder.Body)
		}
	}
}
