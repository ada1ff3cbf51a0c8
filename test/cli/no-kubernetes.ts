/** A kubeconfig for programs that are to reach no Kubernetes: nothing listens there. */
export const kubeconfigOfNone = `apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {}}]
`;
