package arch

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

const (
	maxLines   = 400 // per file, tests included; a longer one has more than one subject
	maxMethods = 8   // per port; a larger one serves unrelated use cases
)

// vague lists package names that say nothing about their content.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "models", "shared", "base"}

func TestSize(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines > maxLines && !s.generated() {
			t.Errorf("%s has %d lines, more than %d", s.path, s.lines, maxLines)
		}
	}
}

func TestPackageNames(t *testing.T) {
	for _, s := range sources(t) {
		if name := strings.TrimSuffix(s.file.Name.Name, "_test"); slices.Contains(vague, name) ||
			slices.Contains(vague, path.Base(s.dir())) {
			t.Errorf("%s: package %s: name it for what it provides", s.path, name)
		}
	}
}

// prepositions are words that say nothing about a function that is named by one of them alone.
var prepositions = []string{
	"after", "as", "at", "before", "between", "by", "for", "from", "in", "into", "of", "off", "on", "or", "over",
	"through", "under", "until", "with", "within", "without",
}

// TestFunctionNames holds rule 11 of docs/style.md in the code that runs in production.
func TestFunctionNames(t *testing.T) {
	layers := []string{"domain", "ports", "application", "adapters", "configs", "cmd"}
	for _, s := range sources(t) {
		layer, _, _ := strings.Cut(s.path, "/")
		if s.test() || !slices.Contains(layers, layer) {
			continue
		}
		for _, name := range functionNames(s.file) {
			if slices.Contains(prepositions, strings.ToLower(name)) {
				t.Errorf("%s: the name %s is a preposition: say what the function does or returns", s.path, name)
			}
		}
	}
}

// functionNames returns the names of the functions of f, and of the methods of its interfaces.
func functionNames(f *ast.File) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name.Name)
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				for _, name := range method.Names {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	return names
}

// TestActors keeps the places that create an identity.Actor few enough to review at once.
func TestActors(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test() && s.dir() != "domain/identity" && s.path != "adapters/rest/server/auth.go" && makesActor(s.file) {
			t.Errorf("%s makes an identity.Actor: only adapters/rest/server/auth.go and identity.System do", s.path)
		}
	}
}

// makesActor reports whether f holds a composite literal of identity.Actor, or of a list or map
// of them.
func makesActor(f *ast.File) bool {
	local := "identity"
	for _, imp := range f.Imports {
		if imp.Path.Value == `"`+module+`domain/identity"` && imp.Name != nil {
			local = imp.Name.Name
		}
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) == 0 { // the zero Actor has no permissions
			return true
		}
		owner := lit.Type
		switch t := owner.(type) {
		case *ast.ArrayType:
			owner = t.Elt
		case *ast.MapType:
			owner = t.Value
		}
		if star, ok := owner.(*ast.StarExpr); ok {
			owner = star.X
		}
		found = found || isName(owner, local, "Actor")
		return true
	})
	return found
}

func TestMakesActor(t *testing.T) {
	for body, want := range map[string]bool{
		`_ = identity.Actor{Role: 4}`:             true,
		`_ = &identity.Actor{Role: 4}`:            true,
		`_ = identity.Actor{}`:                    false,
		`_ = []identity.Actor{{Role: 4}}`:         true,
		`_ = map[string]*identity.Actor{"a": {}}`: true,
		`var by identity.Actor; _ = by`:           false,
		`_ = other.Actor{}`:                       false,
		`_ = identity.Org{}`:                      false,
	} {
		t.Run(body, func(t *testing.T) {
			s := parse(t, "x.go", []byte("package x\nfunc f() { "+body+" }\n"))
			assert.Equal(t, "makesActor", makesActor(s.file), want)
		})
	}
	t.Run("under another name", func(t *testing.T) {
		s := parse(t, "x.go", []byte("package x\nimport who \""+module+
			"domain/identity\"\nvar _ = who.Actor{Role: 4}\n"))
		if !makesActor(s.file) {
			t.Error("not found")
		}
	})
}

// TestDeadlines keeps a deadline of one step from ending the next: see warehouse.Limit.
func TestDeadlines(t *testing.T) {
	const only = "adapters/warehouse/limit.go"
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.path, "adapters/warehouse/") || s.test() || s.path == only {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if calledExpr, ok := n.(*ast.SelectorExpr); ok && strings.HasSuffix(calledExpr.Sel.Name, "Deadline") &&
				strings.HasPrefix(calledExpr.Sel.Name, "Set") {
				t.Errorf("%s calls %s: only %s does", s.path, calledExpr.Sel.Name, only)
			}
			return true
		})
	}
}

// unscoped lists the port methods with a context parameter but no workspace, org or actor, each with its reason.
var unscoped = map[string]string{
	"Atomic.Atomically":                   "opens the transaction in which scoped stores work",
	"Idempotency.Once":                    "ports.IdempotencyKey names the org, and the caller in its scope",
	"Users.Add":                           "account.User names its org",
	"Prompts.Add":                         "prompt.Template names its org and workspace",
	"Chats.Add":                           "chat.Template names its workspace",
	"Workspaces.Add":                      "account.Workspace names its org",
	"Jobs.Enqueue":                        "job.Job names its org and workspace",
	"Keys.Holder":                         "a report of a leaked token does not say whose it is",
	"JobQueue.Take":                       "a worker serves every org; job.Job names the one that the work is for",
	"JobQueue.Release":                    "as JobQueue.Take",
	"WebhookQueue.Take":                   "a node serves every org; webhook.Endpoint names its own",
	"WebhookQueue.Renew":                  "as WebhookQueue.Take",
	"WebhookQueue.Queue":                  "as WebhookQueue.Take",
	"WebhookQueue.Pending":                "as WebhookQueue.Take",
	"WebhookQueue.Next":                   "as WebhookQueue.Take",
	"WebhookQueue.Release":                "as WebhookQueue.Take",
	"WebhookSender.Send":                  "ports.WebhookTarget has the egress of one org",
	"WebhookSender.SendTurn":              "as WebhookSender.Send",
	"JobQueue.Settle":                     "as JobQueue.Take",
	"JobQueue.Renew":                      "as JobQueue.Take",
	"Mailer.Send":                         "a mail goes to a person, and is read by nobody else",
	"Verifier.Verify":                     "the issuers that it is given are those of one org",
	"Warehouse.Probe":                     "reaches what is outside of Atrium, with the credential that it is given",
	"Warehouse.Tables":                    "as Warehouse.Probe",
	"Warehouse.Preview":                   "as Warehouse.Probe",
	"Warehouse.Rows":                      "as Warehouse.Probe",
	"Consents.Exchange":                   "reaches a service with the client of one org, which it is given",
	"Consents.Withdraw":                   "as Warehouse.Probe",
	"Replier.Reply":                       "as Warehouse.Probe",
	"GatewayCustomers.CreateCustomer":     "a gateway is the account of one org, and a customer there is one workspace",
	"GatewayCustomers.CancelSetupIntents": "as GatewayCustomers.CreateCustomer",
	"GatewayCustomers.CreateSetupIntent":  "as GatewayCustomers.CreateCustomer",
	"GatewayCustomers.Wallet":             "as GatewayCustomers.CreateCustomer",
	"GatewayCustomers.SetDefault":         "as GatewayCustomers.CreateCustomer",
	"GatewayDetails.UpdateCustomer":       "as GatewayCustomers.CreateCustomer",
	"GatewayCustomers.Detach":             "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.Prices":         "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.Subscribe":      "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.Amend":          "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.GiveUp":         "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.Pay":            "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.Cancel":         "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.Subscriptions":  "as GatewayCustomers.CreateCustomer",
	"GatewaySubscriptions.Invoices":       "as GatewayCustomers.CreateCustomer",
	"GatewayPreviews.Preview":             "as GatewayCustomers.CreateCustomer",
	"GatewayPromotions.Promotion":         "as GatewayCustomers.CreateCustomer",
	"GatewayPages.Portal":                 "as GatewayCustomers.CreateCustomer",
	"GatewayPages.Checkout":               "as GatewayCustomers.CreateCustomer",
	"GatewayPages.EndCheckouts":           "as GatewayCustomers.CreateCustomer",
	"GatewayMeters.ReportUsage":           "as GatewayCustomers.CreateCustomer",
	"SandboxPayer.Page":                   "as GatewayCustomers.CreateCustomer",
	"SandboxPayer.Complete":               "as GatewayCustomers.CreateCustomer",
	"SandboxPayer.EndAtPeriodEnd":         "as GatewayCustomers.CreateCustomer",
	"GatewayCustomers.CustomerOf":         "as GatewayCustomers.CreateCustomer",
	"GatewayMeters.Buy":                   "as GatewayCustomers.CreateCustomer",
	"GatewayAdjustments.Free":             "as GatewayCustomers.CreateCustomer",
	"GatewayAdjustments.Grant":            "as GatewayCustomers.CreateCustomer",
	"SandboxPayer.Advance":                "as GatewayCustomers.CreateCustomer",
	"SandboxPayer.Confirm":                "as GatewayCustomers.CreateCustomer",
	"SandboxPayer.Authenticate":           "as GatewayCustomers.CreateCustomer",
	"PresenceSignals.Listen":              "a node serves every org; each signal names its own",
	"StreamSeats.Keep":                    "a node serves every org",
	"FileParts.Sweep":                     "its function gets the workspace of each file",
	"Tickets.Add":                         "session.Ticket names its org",
	"OpenIDClient.Begin":                  "the issuer that it is given is that of one org",
	"OpenIDClient.Finish":                 "as OpenIDClient.Begin",
	"OpenIDClient.Logout":                 "as Verifier.Verify",
	"Sessions.AddLink":                    "session.Link names its org",
	"Atomic.Try":                          "as Atomic.Atomically: the stores of its function are scoped",
	"Notes.Note":                          "event.Note names its workspaces, and its actor the org",
}

// TestPorts checks the size of every port, and that every method with a context is scoped to a tenant, so that
// isolation does not depend on reviewers' attention.
func TestPorts(t *testing.T) {
	excusedTexts := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir() != "ports" || s.test() {
			continue
		}
		interfaces(s.file, func(port string, methods []*ast.Field) {
			if len(methods) > maxMethods {
				t.Errorf("%s: %s has %d methods, more than %d", s.path, port, len(methods), maxMethods)
			}
			for _, m := range methods {
				f, ok := m.Type.(*ast.FuncType)
				if !ok || scoped(f) {
					continue
				}
				name := port + "." + m.Names[0].Name
				if unscoped[name] == "" {
					t.Errorf("%s: %s takes neither a workspace nor an org nor an actor", s.path, name)
				}
				excusedTexts[name] = true
			}
		})
	}
	for name := range unscoped {
		if !excusedTexts[name] {
			t.Errorf("%s is excused, but needs no excuse: take it off the list", name)
		}
	}
}

// scoped reports whether a method with a context parameter also has a parameter that says whose data it touches.
// A method without a context reaches no data.
func scoped(f *ast.FuncType) bool {
	params := f.Params.List
	if len(params) == 0 || !isName(params[0].Type, "context", "Context") {
		return true
	}
	return slices.ContainsFunc(params, func(p *ast.Field) bool {
		return isName(p.Type, "identity", "WorkspaceID") || isName(p.Type, "identity", "OrgID") ||
			isName(p.Type, "identity", "Actor")
	})
}

func TestScoped(t *testing.T) {
	for params, want := range map[string]bool{
		"ctx context.Context, ws identity.WorkspaceID, id string":      true,
		"ctx context.Context, org identity.OrgID":                      true,
		"ctx context.Context, by identity.Actor":                       true,
		"plain []byte":                                                 true,
		"ctx context.Context, id string":                               false,
		"ctx context.Context, user identity.UserID":                    false,
		"ctx context.Context, change func(identity.WorkspaceID) error": false,
	} {
		t.Run(params, func(t *testing.T) {
			s := parse(t, "x.go", []byte("package x\ntype I interface { M("+params+") error }\n"))
			interfaces(s.file, func(_ string, methods []*ast.Field) {
				assert.Equal(t, "scoped", scoped(methods[0].Type.(*ast.FuncType)), want)
			})
		})
	}
}

// isName reports whether e is pkg.name.
func isName(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg && sel.Sel.Name == name
}
