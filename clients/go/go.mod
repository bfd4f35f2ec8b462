module github.com/atrium-hq/atrium/clients/go

go 1.26.0
