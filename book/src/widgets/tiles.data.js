widgets.record("tiles", {"scores":[1.0,3.0,2.0,5.0,4.0],"block":2,"length":12,"queries":2,"keys":4});
