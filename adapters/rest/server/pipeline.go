package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Kind is how an operation's requests run: Query, CachedQuery, ReaderQuery, Command, Unpacking, Uploading, Outbound,
// DryRunnable, Probing, Streaming, Anonymous, PublicQuery, Signed, Redirecting, Page or Protocol.
type Kind interface {
	stages(a *API, op *openapi.Operation) stages
}

// stages are what a kind of operation does with a request. The pipeline runs them in this order for all kinds; what is
// nil is left out.
type stages struct {
	instead      func(*http.Request) *stages             // the stages for a request that wants a stream; nil for others
	begin        func(*Call)                             // prepares the call
	authenticate func(*Call) error                       // sets the caller
	parse        func(*Call) error                       // checks the request
	reserve      func(*Call) (release func(), err error) // a place until the end of the response
	gates        *Gates                                  // in which act waits for its turn
	act          perform
	respond      func(r *Call, answer ports.Answer, isReplay bool) // (*Call).respond, if it is nil
	refuse       func(*Call, error)                                // (*Call).refuse, if it is nil
}

// ordinary are an operation's stages for callers with a credential that runs as one request.
func (a *API) ordinary(op *openapi.Operation, act perform) stages {
	s := stages{authenticate: (*Call).authenticate, parse: (*Call).parse, gates: a.Gates, act: act}
	if op.Outbound {
		s.gates = a.outbound
	}
	return s
}

// pipeline returns the handler for an operation, or for what another contract than openapi.yaml describes. Every
// request passes context and deadline, authenticate, parse, gate and act, and gets a response or a problem, which
// observe logs.
//
// Reading a request and writing the response take as long as the client likes, so they occupy no turn in the gates.
func (a *API) pipeline(op *openapi.Operation, k Kind) http.Handler {
	usual := k.stages(a, op)
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		s := &usual
		if s.instead != nil {
			s = cmp.Or(s.instead(hr), s)
		}
		Observed(hr).Route = op.Path
		ctx, cancel := context.WithTimeout(hr.Context(), a.Config.RequestTimeout)
		defer cancel()
		r := a.newCall(w, hr.WithContext(ctx), op)
		r.connection = hr.Context()
		defer r.end()
		if s.begin != nil {
			s.begin(r)
		}
		answer, isReplay, err := s.run(r)
		switch {
		case err == nil && s.respond == nil:
			r.respond(answer, isReplay)
		case err == nil:
			s.respond(r, answer, isReplay)
		case s.refuse == nil:
			r.refuse(err)
		default:
			s.refuse(r, err)
		}
	})
}

// insteadFor returns s with a stream's stages for requests that want a media type of it.
func (s stages) insteadFor(media func(*http.Request) string, stream stages) stages {
	s.instead = func(r *http.Request) *stages {
		if media(r) == "" {
			return nil
		}
		return &stream
	}
	return s
}

// run runs the stages before the response.
func (s *stages) run(r *Call) (answer ports.Answer, isReplay bool, err error) {
	for _, stage := range []func(*Call) error{s.authenticate, s.parse} {
		if stage == nil {
			continue
		}
		if err := stage(r); err != nil {
			return ports.Answer{}, false, err
		}
	}
	if s.reserve != nil {
		release, err := s.reserve(r)
		if err != nil {
			return ports.Answer{}, false, err
		}
		r.atEnd(release)
	}
	if s.gates != nil {
		if err := r.API.enter(r.Context(), s.gates, r.By); err != nil {
			return ports.Answer{}, false, err
		}
		defer s.gates.Leave(r.By)
	}
	answer, isReplay, err = s.act(r)
	if r.weak && errors.Is(err, revision.ErrMismatch) {
		err = errWeakTag
	}
	return answer, isReplay, err
}

// newCall returns the operation call that a request makes, whose caller is not known yet.
func (a *API) newCall(w http.ResponseWriter, r *http.Request, op *openapi.Operation) *Call {
	return &Call{
		Request:           r,
		Services:          a.Services,
		API:               a,
		Operation:         op,
		workspaceOptional: isWorkspaceOptional(op),
		writer:            w,
		ReplyHeader:       w.Header(),
	}
}

// isWorkspaceOptional reports whether a request need not name a workspace in its header: for operations about the
// caller, and for those that name it in the path.
func isWorkspaceOptional(op *openapi.Operation) bool {
	return op.Access.Area == "self" || op.Access.Area == "anyone" || !op.TakesHeader("Workspace-Id")
}

// withStores returns r with the use cases on given stores, such as a transaction's.
func (r *Call) withStores(stores ports.Stores) *Call {
	bound := *r
	bound.Services = r.API.Bind(stores)
	return &bound
}

// atEnd calls f after the response, before what was given earlier.
func (r *Call) atEnd(f func()) { r.ending = append(r.ending, f) }

func (r *Call) end() {
	for _, f := range slices.Backward(r.ending) {
		f()
	}
}

// respond sends the response.
func (r *Call) respond(answer ports.Answer, isReplay bool) {
	if isReplay {
		r.ReplyHeader.Set("Idempotency-Replayed", "true")
	}
	Write(r.writer, r.Request, answer)
}

// refuse sends a problem.
func (r *Call) refuse(err error) {
	r.recordRefusal(err)
	r.API.Problem(r.writer, r.Request, err)
}

// recordRefusal notes in the audit trail that the caller was refused this operation. If the path names a workspace, the
// note is in its trail, and only if the caller is a member.
func (r *Call) recordRefusal(err error) {
	if r.owner == nil {
		return
	}
	by := r.By
	if id := WorkspaceID(r); id != "" && id != by.Workspace {
		isNamed := func(m account.Membership) bool { return m.Workspace.ID == id }
		if !slices.ContainsFunc(r.Person().Memberships, isNamed) {
			return
		}
		by.Workspace = id
	}
	r.API.Services.Accounts.NoteRefusal(r.Context(), by, r.Operation.ID, r.Method == http.MethodDelete, err)
}
