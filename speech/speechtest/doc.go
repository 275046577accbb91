// Package speechtest is the suite that every speech engine passes, and an engine in memory to build others on.
package speechtest
