// Package rollouts is here for its module, which builds the controller of Argo Rollouts as it was released.
package rollouts
