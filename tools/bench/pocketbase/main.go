// Command pocketbase serves PocketBase with the data of one read that the benchmark compares: a member of a workspace
// reads a prompt template with its active version.
//
//	pocketbase ADDRESS FOLDER
//
// It writes the path to read and a token to FOLDER/read.json. The token stands for the API key of Atrium: PocketBase
// has none, and its documentation recommends such tokens for programs.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pocketbase:", err)
		os.Exit(1)
	}
}

// run serves PocketBase with a collection whose records are like Atrium's prompt versions.
func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: pocketbase ADDRESS FOLDER")
	}
	app := pocketbase.NewWithConfig(pocketbase.Config{HideStartBanner: true, DefaultDataDir: args[1]})
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	read, err := fill(app)
	if err != nil {
		return err
	}
	text, err := json.Marshal(read)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(args[1], "read.json"), text, 0o600); err != nil {
		return err
	}
	return apis.Serve(app, apis.ServeConfig{HttpAddr: args[0]})
}

// read is the request that is measured.
type read struct {
	Path  string `json:"path"`
	Token string `json:"token"`
}

// fill creates the collections and one record of each kind.
func fill(app core.App) (read, error) {
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return read{}, err
	}
	workspaces, err := create(app, "workspaces", "", &core.TextField{Name: "name"})
	if err != nil {
		return read{}, err
	}
	memberships, err := create(app, "memberships", "", reference("workspace", workspaces), reference("member", users))
	if err != nil {
		return read{}, err
	}
	versions, err := create(app, "versions", "@request.auth.id != ''",
		&core.NumberField{Name: "number"}, &core.TextField{Name: "text", Max: 100_000}, &core.JSONField{Name: "variables"},
		&core.JSONField{Name: "model_config"}, &core.JSONField{Name: "labels"}, &core.TextField{Name: "commit_message"},
		&core.TextField{Name: "content_hash"}, &core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true})
	if err != nil {
		return read{}, err
	}
	templates, err := create(app, "templates",
		"workspace.memberships_via_workspace.member ?= @request.auth.id",
		reference("workspace", workspaces), &core.TextField{Name: "name"}, reference("active", versions))
	if err != nil {
		return read{}, err
	}

	ann := core.NewRecord(users)
	ann.SetEmail("ann@example.com")
	ann.SetRandomPassword()
	if err := app.Save(ann); err != nil {
		return read{}, err
	}
	workspace, err := add(app, workspaces, map[string]any{"name": "Sales"})
	if err != nil {
		return read{}, err
	}
	if _, err := add(app, memberships, map[string]any{"workspace": workspace, "member": ann.Id}); err != nil {
		return read{}, err
	}
	version, err := add(app, versions, map[string]any{
		"number": 2, "commit_message": "Name who asked", "content_hash": strings.Repeat("0", 64),
		"labels": []string{"production"},
		"text": "Summarise this call with {{customer}} in {{language}}.\n\n" +
			strings.Repeat("Name who asked what, and what was promised. ", 20) + "\n\n{{transcript}}\n",
		"variables": []map[string]any{{"name": "customer", "type": "string", "required": true},
			{"name": "language", "type": "string", "required": true, "description": "In English"},
			{"name": "transcript", "type": "string", "required": true}},
		"model_config": map[string]any{"provider": "openai", "model_name": "gpt-5-mini", "temperature": 0.2,
			"max_tokens": 600},
	})
	if err != nil {
		return read{}, err
	}
	template, err := add(app, templates, map[string]any{
		"workspace": workspace, "name": "sales/summarise-call", "active": version,
	})
	if err != nil {
		return read{}, err
	}
	token, err := ann.NewStaticAuthToken(24 * time.Hour)
	return read{"/api/collections/templates/records/" + template + "?expand=active", token}, err
}

// create makes a collection whose records can be viewed under a rule, if there is one.
func create(app core.App, name, rule string, fields ...core.Field) (*core.Collection, error) {
	c := core.NewBaseCollection(name)
	c.Fields.Add(fields...)
	if rule != "" {
		c.ViewRule = &rule
	}
	return c, app.Save(c)
}

func reference(name string, to *core.Collection) core.Field {
	return &core.RelationField{Name: name, CollectionId: to.Id, MaxSelect: 1}
}

func add(app core.App, to *core.Collection, values map[string]any) (id string, err error) {
	r := core.NewRecord(to)
	r.Load(values)
	err = app.Save(r)
	return r.Id, err
}
