// Package egress is the one way out for the browsers of a tenant that is kept to a list of hosts.
package egress
