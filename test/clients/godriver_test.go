package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	atrium "github.com/atrium-hq/atrium/clients/go"
)

// goDriver makes the calls of the Go client, whose methods it finds by their names.
type goDriver struct {
	client *atrium.Client
	log    bytes.Buffer

	mu       sync.Mutex // a client asks for new versions of prompts in the background
	attempts []attempt
}

func (d *goDriver) do(t *testing.T, c command, events func(name string)) result {
	t.Helper()
	d.taken()
	r, err := d.done(t.Context(), c, events)
	if err != nil {
		r.Error = described(err)
	}
	r.Attempts = d.taken()
	return r
}

// taken returns the attempts since it was last called.
func (d *goDriver) taken() []attempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	attempts := d.attempts
	d.attempts = nil
	return attempts
}

func (d *goDriver) done(ctx context.Context, c command, events func(name string)) (r result, err error) {
	switch c.Do {
	case "new":
		return d.new(c.Settings)
	case "call":
		return d.call(ctx, c, events)
	case "render":
		version, err := promptVersion(c.Version)
		if err != nil {
			return r, err
		}
		renderedRendered, err := atrium.Render(version, c.Values, atrium.RenderMode(c.Mode))
		return result{Value: decoded(renderedRendered)}, err
	case "inserted":
		version := &atrium.PromptVersion{Messages: []atrium.PromptMessage{{Placeholder: new("h")}}}
		rendered, err := atrium.Render(version, map[string]any{"h": json.RawMessage(c.Text)}, atrium.RenderModeStrict)
		if err != nil {
			return r, err
		}
		list := make([]string, len(rendered.Messages))
		for i, m := range rendered.Messages {
			list[i] = string(m.JSON)
		}
		return result{Value: "["+strings.Join(list, ",")+"]" == c.Text}, nil
	case "prompt":
		return d.prompt(ctx, c)
	case "prompts":
		return d.prompts(ctx, c)
	case "visitor":
		lasts := time.Duration(c.Now) * time.Second
		if c.Name != "" {
			return result{Value: atrium.SignVisitorWith(c.Secrets[0], c.Text, c.Name, lasts)}, nil
		}
		return result{Value: atrium.SignVisitor(c.Secrets[0], c.Text, lasts)}, nil
	case "webhook":
		return d.webhook(c)
	}
	return r, fmt.Errorf("unknown command %s", c.Do)
}

func (d *goDriver) new(s *settings) (r result, err error) {
	options := []atrium.ClientOption{atrium.WithWorkspace(s.Workspace), atrium.WithMaxRetries(s.MaxRetries),
		atrium.WithTimeout(time.Duration(s.TimeoutMS) * time.Millisecond), atrium.WithObserver(d.observe),
		atrium.WithLogger(slog.New(slog.NewTextHandler(&d.log, nil)))}
	token := s.Token
	if s.Refreshes {
		token = ""
		options = append(options, atrium.WithToken(func(context.Context) (string, error) { return s.Token, nil }))
	}
	d.client, err = atrium.New(s.Base, token, options...)
	return result{Text: fmt.Sprintf("%v %+v %#v %s", d.client, d.client, d.client, d.client)}, err
}

func (d *goDriver) observe(a *atrium.Attempt) func(*atrium.Outcome) {
	a.Headers.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	return func(o *atrium.Outcome) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.attempts = append(d.attempts, attempt{a.Call, a.Number, o.Status, o.RetryIn > 0})
	}
}

func (d *goDriver) prompt(ctx context.Context, c command) (r result, err error) {
	o := atrium.PromptOptions{Ref: c.Prompt.Ref, Key: c.Prompt.Key, TTL: seconds(c.Prompt.TTL),
		MaxStale: seconds(c.Prompt.MaxStale)}
	if c.Prompt.Fallback != "" {
		o.Fallback = atrium.TextFallback(c.Prompt.Fallback)
	}
	p, err := d.client.Prompts.Get(ctx, c.Name, o)
	if err != nil {
		return r, err
	}
	output, err := p.Render(c.Values)
	if err != nil {
		return r, err
	}
	return result{Value: object{"is_fallback": p.IsFallback, "text": output.Text, "failed": p.Err != nil}}, nil
}

func (d *goDriver) prompts(ctx context.Context, c command) (r result, err error) {
	begin, texts := time.Now(), make([]string, c.Count)
	o := atrium.PromptOptions{Fallback: atrium.TextFallback(c.Prompt.Fallback),
		FallbackAfter: seconds(c.Prompt.FallbackAfter)}
	var group errgroup.Group
	for i := range texts {
		group.Go(func() error {
			p, err := d.client.Prompts.Get(ctx, c.Name, o)
			if err != nil {
				return err
			}
			rendered, err := p.Render(nil)
			if err != nil {
				return err
			}
			if texts[i] = rendered.Text; p.IsFallback {
				texts[i] = "fallback " + rendered.Text
			}
			return nil
		})
	}
	err = group.Wait()
	warnings := strings.Split(strings.TrimSpace(d.log.String()), "\n")
	d.log.Reset()
	return result{Value: decoded(object{"texts": texts, "milliseconds": time.Since(begin).Milliseconds(),
		"warnings": slices.DeleteFunc(warnings, func(s string) bool { return s == "" })})}, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (d *goDriver) webhook(c command) (r result, err error) {
	header := http.Header{}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	if err := atrium.VerifyWebhookAt([]byte(c.Text), header, time.Unix(c.Now, 0), c.Secrets...); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(c.Text), &r.Value)
}

// call finds a method by its name, and gives it the arguments of c.
func (d *goDriver) call(ctx context.Context, c command, events func(name string)) (r result, err error) {
	v := reflect.ValueOf(d.client)
	parts := strings.Split(c.Name, ".")
	for _, part := range parts[:len(parts)-1] {
		v = v.Elem().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, part) })
	}
	method := methodNamed(v, parts[len(parts)-1])
	if page := methodNamed(v, parts[len(parts)-1]+"Page"); page.IsValid() && !c.Options.All {
		method = page
	}
	if !method.IsValid() {
		return r, fmt.Errorf("there is no method for %s", c.Name)
	}
	var response atrium.Response
	args, err := arguments(ctx, method.Type(), c)
	if err != nil {
		return r, err
	}
	options := []atrium.Option{atrium.Into(&response)}
	for value, option := range map[string]func(string) atrium.Option{c.Options.IfMatch: atrium.IfMatch,
		c.Options.IfNoneMatch: atrium.IfNoneMatch, c.Options.IdempotencyKey: atrium.IdempotencyKey,
		c.Options.Token: atrium.Credential} {
		if value != "" {
			options = append(options, option(value))
		}
	}
	for _, o := range options {
		args = append(args, reflect.ValueOf(o))
	}
	results := method.Call(args)
	last := results[len(results)-1]
	if last.Kind() == reflect.Func {
		return d.iterate(last, c, events)
	}
	if !last.IsNil() {
		return r, last.Interface().(error)
	}
	r = result{ETag: response.ETag, Replayed: response.Replayed}
	if len(results) == 2 {
		r.Value = decoded(results[0].Interface())
	}
	return r, nil
}

func methodNamed(v reflect.Value, name string) reflect.Value {
	for i := range v.NumMethod() {
		if strings.EqualFold(v.Type().Method(i).Name, name) {
			return v.Method(i)
		}
	}
	return reflect.Value{}
}

// arguments returns the arguments of a method before its options.
func arguments(ctx context.Context, method reflect.Type, c command) ([]reflect.Value, error) {
	args := []reflect.Value{reflect.ValueOf(ctx)}
	for _, a := range c.Args {
		args = append(args, reflect.ValueOf(a))
	}
	for i := len(args); i < method.NumIn()-1; i++ {
		value := reflect.New(method.In(i))
		if strings.HasSuffix(method.In(i).Name(), "Query") {
			if err := fillQuery(value.Elem(), c.Query); err != nil {
				return nil, err
			}
		} else if text, err := json.Marshal(c.Body); err != nil {
			return nil, err
		} else if err := json.Unmarshal(text, value.Interface()); err != nil {
			return nil, err
		}
		args = append(args, value.Elem())
	}
	return args, nil
}

func fillQuery(v reflect.Value, query object) error {
	for name, value := range query {
		field := v.FieldByNameFunc(func(n string) bool {
			return strings.EqualFold(n, strings.ReplaceAll(name, "_", ""))
		})
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, field.Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}

// iterate reads the items of a list, or as many events of a stream as c says.
func (d *goDriver) iterate(sequence reflect.Value, c command, events func(name string)) (r result, err error) {
	items := []any{}
	for item, failures := range sequence.Seq2() {
		if !failures.IsNil() {
			return r, failures.Interface().(error)
		}
		if c.Options.Count == 0 {
			if items = append(items, decoded(item.Interface())); len(items) == c.Options.First {
				break
			}
			continue
		}
		name := item.FieldByName("Name").String()
		items = append(items, name)
		if events != nil {
			events(name)
		}
		if len(items) >= c.Options.Count {
			break
		}
	}
	return result{Value: items}, nil
}

// decoded returns what a client in another language would have printed.
func decoded(v any) (value any) {
	text, err := json.Marshal(v)
	if err != nil || json.Unmarshal(text, &value) != nil {
		return nil
	}
	return value
}

func promptVersion(version object) (*atrium.PromptVersion, error) {
	text, err := json.Marshal(version)
	if err != nil {
		return nil, err
	}
	var v atrium.PromptVersion
	decoder := json.NewDecoder(bytes.NewReader(text))
	return &v, decoder.Decode(&v)
}

func described(err error) *failure {
	f := &failure{Kind: "other"}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		f.Text += fmt.Sprintf("%v %+v %#v ", cause, cause, cause)
	}
	if failedFault, ok := errors.AsType[*atrium.Error](err); ok {
		f.Kind, f.Code, f.Status = "api", failedFault.Code, failedFault.Status
		f.RetryAfter, f.RequestID = failedFault.RetryAfter.Seconds(), failedFault.RequestID
		if !errors.Is(err, atrium.Code(failedFault.Code)) {
			f.Kind = "an error that errors.Is does not find"
		}
	} else if _, ok := errors.AsType[*atrium.ConnectionError](err); ok {
		f.Kind = "connection"
	} else if failures, ok := errors.AsType[*atrium.RenderError](err); ok {
		f.Kind, f.Code = "render", string(failures.Code)
	} else if errors.Is(err, atrium.ErrNotModified) {
		f.Kind = "not_modified"
	} else if errors.Is(err, atrium.ErrWebhook) {
		f.Kind = "webhook"
	} else if errors.Is(err, atrium.ErrSecret) {
		f.Kind = "secret"
	}
	return f
}
