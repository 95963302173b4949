"""Where keys come from (variables, stored keys, brokers), and checking one."""
