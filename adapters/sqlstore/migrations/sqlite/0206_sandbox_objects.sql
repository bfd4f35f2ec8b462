-- +goose Up

-- The objects of the simulated gateway, of each of its customers. The row without an id is the customer's lock. The
-- documents in sandbox_books are not read any more: a previous binary may still write them.
CREATE TABLE sandbox_objects (
    org_id   TEXT NOT NULL,
    customer TEXT NOT NULL,
    id       TEXT NOT NULL,
    body     TEXT NOT NULL,
    PRIMARY KEY (org_id, customer, id)
);
