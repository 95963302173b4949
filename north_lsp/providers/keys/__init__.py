"""Where keys come from: variables, stored keys, brokers; and trying one out."""
