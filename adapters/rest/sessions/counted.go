package sessions

import "github.com/atrium-hq/atrium/adapters/rest/server"

// counted counts sign-ins that were refused, by their codes.
func counted[Result any](way string, run func(*server.Call) (Result, error)) func(*server.Call) (Result, error) {
	return func(r *server.Call) (Result, error) {
		result, err := run(r)
		if err != nil {
			r.API.Measures.SignInRefused(way, server.PublicError(err).Code)
		}
		return result, err
	}
}
