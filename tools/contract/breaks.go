package main

import (
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"
	"go.yaml.in/yaml/v3"
)

// found is a change that can break a client of the released contract.
type found struct {
	Rule      string // of oasdiff
	Operation string // "GET /api/me"; empty for one of a component
	text      string
}

// breaks returns the changes between two documents that break clients, and those that may.
func breaks(before, now []byte) ([]found, error) {
	base, err := read(before)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", releases, err)
	}
	revision, err := read(now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", document, err)
	}
	eventsAsResponses(base.Spec)
	eventsAsResponses(revision.Spec)
	differences, from, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), base, revision)
	if err != nil {
		return nil, err
	}
	words := checker.NewDefaultLocalizer()
	var all []found
	for _, c := range checker.CheckBackwardCompatibility(checker.NewConfig(checker.GetAllChecks()), differences, from) {
		f := found{Rule: c.GetId(), text: c.GetUncolorizedText(words)}
		if c.GetPath() != "" {
			f.Operation = c.GetOperation() + " " + c.GetPath()
		}
		all = append(all, f)
	}
	return all, nil
}

func read(text []byte) (*load.SpecInfo, error) {
	return load.NewSpecInfoFromData(openapi3.NewLoader(), text, "openapi.yaml")
}

// eventsAsResponses moves the webhooks of a document to paths, with the data of each as a response, because the server
// sends both. oasdiff compares the schemas of responses, and of webhooks only the names.
func eventsAsResponses(document *openapi3.T) {
	for kind, item := range document.Webhooks {
		described := "An event."
		form := item.Post.RequestBody.Value.Content.Get("application/json").Schema.Value.AllOf[1].Value
		data := form.Properties["data"].Value.Properties["change"]
		item.Post.Responses = openapi3.NewResponses(openapi3.WithStatus(200, &openapi3.ResponseRef{
			Value: &openapi3.Response{Description: &described, Content: openapi3.NewContentWithJSONSchemaRef(data)},
		}))
		item.Post.RequestBody = nil
		document.Paths.Set("/webhooks/"+kind, item)
	}
	document.Webhooks = nil
}

// intended is a deliberate break. After the next release it is part of that contract, and is removed here.
type intended struct {
	Rule      string
	Operation string
	Reason    string
}

func readIntended(file string) (list []intended, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// refused reports breaks that are not in decided, and decisions that break nothing.
func refused(broken []found, decided []intended) (complaints []string) {
	used := make([]bool, len(decided))
	for _, b := range broken {
		allowed := false
		for i, d := range decided {
			if d.Rule == b.Rule && d.Operation == b.Operation && d.Reason != "" {
				used[i], allowed = true, true
			}
		}
		if !allowed {
			complaints = append(complaints, fmt.Sprintf("%s: breaks what was released: %s: %s (%s)", document,
				b.Operation, b.text, b.Rule))
		}
	}
	for i, d := range decided {
		if !used[i] {
			complaints = append(complaints, fmt.Sprintf("%s: %s at %s breaks nothing, or has no reason", intentions,
				d.Rule, d.Operation))
		}
	}
	return complaints
}
