package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/schema"
	"github.com/atrium-hq/atrium/test/support/require"
)

var load = sync.OnceValues(openapi.Load)

func contract(t testing.TB) *openapi.Contract {
	t.Helper()
	c, err := load()
	require.NoError(t, err)
	return c
}

func operation(t testing.TB, method, path string) *openapi.Operation {
	t.Helper()
	o, ok := contract(t).Operation(method, path)
	if !ok {
		t.Fatalf("the contract has no %s %s", method, path)
	}
	return o
}

type object = map[string]any

func document(t testing.TB) object {
	t.Helper()
	var doc object
	require.NoError(t, json.Unmarshal(contract(t).JSON(), &doc))
	return doc
}

// find follows a JSON pointer; nil if it leads nowhere.
func find(doc any, pointer string) any {
	for _, token := range strings.Split(pointer, "/")[1:] {
		members, _ := doc.(object)
		doc = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return doc
}

// follow returns what a node is or refers to.
func follow(doc object, node any) object {
	members, _ := node.(object)
	if ref, ok := members["$ref"].(string); ok {
		return follow(doc, find(doc, strings.TrimPrefix(ref, "#")))
	}
	return members
}

// walk visits every object below node.
func walk(node any, path string, visit func(place string, o object)) {
	switch node := node.(type) {
	case object:
		visit(path, node)
		for name, member := range node {
			walk(member, path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), visit)
		}
	case []any:
		for i, item := range node {
			walk(item, fmt.Sprint(path, "/", i), visit)
		}
	}
}

// declared yields what openapi.yaml says of each operation.
func declared(t *testing.T, doc object, visit func(t *testing.T, o *openapi.Operation, declaredValues object)) {
	for _, o := range contract(t).Operations() {
		t.Run(o.ID, func(t *testing.T) {
			visit(t, o, follow(doc, doc["paths"].(object)[o.Path].(object)[strings.ToLower(o.Method)]))
		})
	}
}

func TestDocument(t *testing.T) {
	doc := document(t)

	t.Run("what is served is JSON without repeated keys", func(t *testing.T) {
		if !jsontext.Value(contract(t).JSON()).IsValid() {
			t.Error("it is not")
		}
	})
	t.Run("what is served keeps the order of the source and none of the generator's hints", func(t *testing.T) {
		text := string(contract(t).JSON())
		if strings.Index(text, `"/api/me"`) > strings.Index(text, `"/api/api-keys"`) ||
			!strings.HasPrefix(text, `{"openapi":"3.1.0"`) {
			t.Error("the order is another")
		}
		if strings.Contains(text, `"x-go-`) {
			t.Error("there are hints")
		}
	})
	t.Run("operations whose responses are sent in parts are marked as streams", func(t *testing.T) {
		n := 0
		for _, o := range contract(t).Operations() {
			path := "/paths/" + schema.Token(o.Path) + "/" + strings.ToLower(o.Method)
			responses, _ := find(doc, path+"/responses").(object)
			for status, response := range responses {
				content, _ := follow(doc, response.(object))["content"].(object)
				for media := range content {
					inParts := status < "300" && !slices.Contains([]string{"application/json", "application/scim+json",
						"text/html", "text/javascript"}, media)
					if inParts && !o.Stream {
						t.Errorf("%s returns %s, and is no x-stream", o.ID, media)
					}
					if inParts {
						n++
					}
				}
			}
		}
		if n < 8 {
			t.Errorf("only %d media types were seen", n)
		}
	})
	t.Run("every reference leads somewhere", func(t *testing.T) {
		n := 0
		walk(doc, "", func(path string, o object) {
			if ref, ok := o["$ref"].(string); ok {
				if n++; follow(doc, o) == nil {
					t.Errorf("%s: %s", path, ref)
				}
			}
		})
		if n < 100 {
			t.Errorf("only %d references were seen", n)
		}
	})
	t.Run("every component is used", func(t *testing.T) {
		usedTexts := map[string]bool{"#/components/responses/MethodNotAllowed": true} // of any path
		walk(doc, "", func(_ string, o object) {
			if ref, ok := o["$ref"].(string); ok {
				usedTexts[ref] = true
			}
		})
		for kind, members := range doc["components"].(object) {
			for name := range members.(object) {
				if ref := "#/components/" + kind + "/" + name; kind != "securitySchemes" && !usedTexts[ref] {
					t.Error(ref)
				}
			}
		}
	})
}

func TestOperations(t *testing.T) {
	doc := document(t)
	ids := map[string]bool{}
	tags := map[string]bool{}
	for _, tag := range doc["tags"].([]any) {
		tags[tag.(object)["name"].(string)] = true
	}
	declared(t, doc, func(t *testing.T, o *openapi.Operation, d object) {
		if !regexp.MustCompile(`^[a-z]+([A-Z][A-Za-z]*)$`).MatchString(o.ID) || ids[o.ID] {
			t.Errorf("the operationId %q is taken, or not camelCase", o.ID)
		}
		ids[o.ID] = true
		if summary, _ := d["summary"].(string); summary == "" || strings.HasSuffix(summary, ".") {
			t.Errorf("summary = %q", summary)
		}
		if description, _ := d["description"].(string); len(description) < 20 ||
			!strings.HasSuffix(strings.TrimSpace(description), ".") {
			t.Errorf("description = %q", description)
		}
		if owners, _ := d["tags"].([]any); len(owners) != 1 || !tags[owners[0].(string)] {
			t.Errorf("tags = %v", owners)
		}
		if _, ok := d["x-codes"].([]any); !ok {
			t.Error("x-codes is missing")
		}
		responses := d["responses"].(object)
		public := d["security"] != nil
		var always []int
		if responses["504"] != nil { // it asks the database
			always = append(always, 500, 503)
		}
		if !public {
			always = append(always, 400, 401, 404, 406, 421, 429, 500, 503, 504)
		}
		switch {
		case o.ID == "receivePaymentEvent": // nothing is looked at before the signature
			always = append(always, 413)
		case slices.Equal(o.MediaTypes, []string{"application/octet-stream"}): // bytes have no fields
			always = append(always, 413, 415)
		case o.HasBody:
			always = append(always, 413, 415, 422)
		}
		var names []string
		for _, p := range slices.Concat(list(d["parameters"]),
			list(doc["paths"].(object)[o.Path].(object)["parameters"])) {
			parameter := follow(doc, p)
			names = append(names, parameter["name"].(string))
			switch parameter["name"] {
			case "If-Match":
				always = append(always, 412)
			case "If-None-Match":
				always = append(always, 304)
			case "Idempotency-Key":
				always = append(always, 409) // a key used for another body is 422, where there is one
			}
		}
		// it has no revision, and the next heartbeat repeats the one before
		isUnrevised := strings.HasPrefix(o.Path, "/api/presence") ||
			// a session never changes, and a credential that is shown once is not kept for a repeated call
			o.ID == "joinByInvitation" || o.ID == "signInWithPasskey" || (strings.Contains(o.Path, "/session") &&
			!strings.HasPrefix(o.Path, "/api/embed"))
		answers := responses[strconv.Itoa(http.StatusOK)]
		isTagged := answers != nil && follow(doc, answers)["headers"].(object)["ETag"] != nil
		for header, isNeeded := range map[string]bool{
			// methods are the gateway's, which has no revisions
			"If-Match": o.Method == http.MethodPatch || (o.Method == http.MethodDelete && !isUnrevised &&
				o.ID != "deletePaymentMethod") || o.ID == "activatePromptVersion",
			"If-None-Match":   o.Method == http.MethodGet && isTagged,
			"Idempotency-Key": o.Method == http.MethodPost && (isTagged || responses["201"] != nil) && !isUnrevised,
			"Workspace-Id": responses["200"] != nil &&
				follow(doc, responses["200"])["headers"].(object)["Workspace-Id"] != nil,
		} {
			if isNeeded && !slices.Contains(names, header) {
				t.Errorf("it takes no %s", header)
			}
		}
		for _, status := range always {
			if responses[strconv.Itoa(status)] == nil {
				t.Errorf("%d is not documented", status)
			}
		}
		for _, name := range regexp.MustCompile(`\{([a-z_]+)\}`).FindAllStringSubmatch(o.Path, -1) {
			if !slices.Contains(names, name[1]) {
				t.Errorf("the path parameter %s is not declared", name[1])
			}
		}
		for status, r := range responses {
			response := follow(doc, r)
			headers := response["headers"].(object)
			if follow(doc, headers["Request-Id"])["required"] != true {
				t.Errorf("%s promises no Request-Id", status)
			}
			gateways := []string{"createSetupIntent", "createPortalSession", "createCheckoutSession"} // not read here
			if status == "201" && !slices.Contains(gateways, o.ID) &&
				(headers["Location"] == nil || (headers["ETag"] == nil && !isUnrevised)) {
				t.Errorf("%s promises no Location or no ETag", status)
			}
		}
		if o.Method == http.MethodPatch &&
			!slices.Equal(o.MediaTypes, []string{"application/json", "application/merge-patch+json"}) {
			t.Errorf("a patch takes %v", o.MediaTypes)
		}
		if large := slices.Contains([]string{"createPromptTemplate", "createPromptVersion", "updatePromptVersion",
			"writePromptVersion", "createChatTemplate", "updateChatTemplate", "importChatTemplate", "receivePaymentEvent"},
			o.ID); o.HasBody && (o.MaxBody == 1<<20) != large {
			t.Errorf("the body may have %d bytes", o.MaxBody)
		}
	})
}

func TestExamples(t *testing.T) {
	doc := document(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("https://atrium.invalid/api", doc))
	// encoding/json decodes every number as a float64, and the format int64 concerns only Go.
	content := func(t *testing.T, path string, media object, check func(json []byte) error) {
		examples, _ := media["examples"].(object)
		if one, ok := media["example"]; ok {
			examples = object{"only": object{"value": one}}
		}
		if len(examples) == 0 {
			t.Errorf("%s has no example", path)
		}
		for name, e := range examples {
			text, err := json.Marshal(follow(doc, e)["value"])
			if err == nil {
				err = check(text)
			}
			if err != nil {
				t.Errorf("%s: example %s: %v", path, name, err)
			}
		}
	}
	baseCall := func(schema any) func([]byte) error {
		ref, _ := schema.(object)["$ref"].(string)
		return func(text []byte) error {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			if err != nil || ref == "" {
				return err
			}
			compiledSchema, err := compiler.Compile("https://atrium.invalid/api" + ref)
			if err != nil {
				return err
			}
			return compiledSchema.Validate(value)
		}
	}
	declared(t, doc, func(t *testing.T, o *openapi.Operation, d object) {
		if body, ok := d["requestBody"].(object); ok {
			for mediaType, media := range body["content"].(object) {
				content(t, mediaType, media.(object), func(json []byte) error {
					if mediaType == "application/octet-stream" {
						return nil // bytes have no schema
					}
					_, err := o.CheckBody(json)
					return err
				})
			}
		}
		for status, r := range d["responses"].(object) {
			contents, _ := follow(doc, r)["content"].(object)
			for mediaType, media := range contents {
				content(t, status+" "+mediaType, media.(object), baseCall(media.(object)["schema"]))
			}
		}
	})
}

func TestCodes(t *testing.T) {
	doc := document(t)
	usedTexts := map[string]bool{}
	declared(t, doc, func(t *testing.T, o *openapi.Operation, d object) {
		sharedTexts := map[string]bool{}
		for status, r := range d["responses"].(object) {
			for _, code := range list(follow(doc, r)["x-codes"]) {
				sharedTexts[code.(string)] = true
				if p, ok := contract(t).Problem(code.(string)); !ok || strconv.Itoa(p.Status) != status {
					t.Errorf("%s stands under %s, but is registered as %+v", code, status, p)
				}
			}
		}
		for _, code := range list(d["x-codes"]) {
			if sharedTexts[code.(string)] {
				t.Errorf("%s is shared already", code)
			}
			p, ok := contract(t).Problem(code.(string))
			if !ok || d["responses"].(object)[strconv.Itoa(p.Status)] == nil {
				t.Errorf("%s is not registered, or its status %d is not documented here", code, p.Status)
			}
			sharedTexts[code.(string)] = true
		}
		if want := slices.Sorted(maps.Keys(sharedTexts)); !slices.Equal(o.Codes, want) {
			t.Errorf("codes = %v, want %v", o.Codes, want)
		}
		maps.Copy(usedTexts, sharedTexts)
	})
	usedTexts["method_not_allowed"] = true // of any path
	for _, p := range contract(t).Problems() {
		if !usedTexts[p.Code] {
			t.Errorf("%s is registered and never answered", p.Code)
		}
		if p.Title == "" || (!strings.HasSuffix(p.Description, ".") && !strings.HasSuffix(p.Description, "`")) ||
			p.Status < 400 {
			t.Errorf("%+v is not described", p)
		}
	}
	if _, ok := contract(t).Problem("gone_fishing"); ok {
		t.Error("an unregistered code is found")
	}
}
